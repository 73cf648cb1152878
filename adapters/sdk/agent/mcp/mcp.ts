/**
 * The exports of `@mandate/agent/mcp`: an `OAuthClientProvider` for the official MCP client (TypeScript SDK 2, and SDK 1
 * from 1.32). Only types of the SDK are imported.
 *
 * The SDK sends the token exchange, and a task of this library keeps the result. The SDK alone does not suffice: it renews
 * only tokens that it got by a browser redirect, and otherwise answers every 401 with a new exchange. A task alone does
 * not suffice either: for a step-up (403 `insufficient_scope`) the SDK must send the token request itself.
 */

import type { OAuthClientProvider, OAuthDiscoveryState, OAuthTokens } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { anyObject, type Checks, checkArguments, membersOf, must, optional, optionsOf, text } from '../../arguments.ts';
import type { Agent } from '../agent.ts';
import { isAgent, partsOf } from '../agent-parts.ts';
import type { ControlPlane } from '../control-plane.ts';
import { Refused, TaskOver } from '../errors.ts';
import { names, readIssuedToken } from '../issued-token.ts';
import { agentScopes, audience, type CheckedAgentOptions, isAccessToken, originList, purposeText } from '../options.ts';
import { renewingTask, type Task } from '../task.ts';

export interface McpAuthorizationOptions {
  readonly agent: Agent;
  /** The person's access token, or a function that returns it. It is sent to the control plane only. */
  readonly subjectToken: string | (() => string | Promise<string>);
  /**
   * The audience of the tokens. The default is the resource in the server's metadata, if the server's address lies within
   * it.
   */
  readonly resource?: string;
  /** The origins at which the server of `resource` is reached. The default is the origin of the resource. */
  readonly origins?: readonly string[];
  /** The scopes to begin with. The default is those that the server asks for, else all in its metadata. */
  readonly scope?: readonly string[];
  /** Why the agent acts for the person: at most 300 characters. The control plane may require it, or ignore it. */
  readonly purpose?: string;
}

/** The provider for one transport. It stays with the first server that it was used for. */
export type McpAuthorization = Required<
  Pick<OAuthClientProvider, 'prepareTokenRequest' | 'addClientAuthentication' | 'validateResourceURL'>
> &
  OAuthClientProvider & {
    /** The current task. `undefined` until the server has asked for a token. */
    readonly task: Task | undefined;
    /** Ends the task. Call it when the work is done, and also after an error. @throws NotNow, Refused */
    end(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
  };

/** The state of one provider: its options, and its task since. */
interface State extends CheckedMcpOptions {
  readonly options: CheckedAgentOptions;
  readonly plane: ControlPlane;
  /** `undefined` until the server has asked for a token. */
  task: Task | undefined;
  isEnded: boolean;
  /** The server and its resource, once they were checked. */
  bound: { readonly server: string; readonly resource: string } | undefined;
  metadata: Metadata | undefined;
  /** Every scope that was requested so far. No answer may grant any other. */
  readonly asked: Set<string>;
  askedAt: number;
  /** A refusal after which the SDK repeats its request. The second attempt throws it. */
  repeated: Refused | undefined;
}

/** @throws TypeError that lists every wrong option */
export function mcpAuthorization(given: McpAuthorizationOptions): McpAuthorization {
  const checked = checkOptions(given);
  const state: State = {
    ...partsOf(given.agent),
    ...checked,
    task: undefined,
    isEnded: false,
    bound: undefined,
    metadata: undefined,
    asked: new Set(),
    askedAt: 0,
    repeated: undefined,
  };
  const { issuer, agentId } = state.options;

  const provider: McpAuthorization = {
    // Without this URL the SDK calls `prepareTokenRequest`.
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [], client_name: agentId },
    clientInformation: () => ({ client_id: agentId, issuer }),

    discoveryState: () => discoveryOf(state),
    saveDiscoveryState(discovered) {
      checkArguments('saveDiscoveryState', discovered, membersOf({ resourceMetadata: optional(anyObject) }));
      state.metadata = discovered.resourceMetadata;
    },
    validateResourceURL: (server, resource) => bindServer(state, server, resource),

    prepareTokenRequest: (named) => prepareRequest(state, named),
    addClientAuthentication: (_headers, params, url) => addCredentials(state, params, url),
    saveTokens: (tokens) => beginTask(state, tokens),
    async tokens() {
      const { task } = state;
      if (task === undefined) return undefined;
      const token = await task.token();
      return { access_token: token, token_type: 'Bearer', scope: task.scope.join(' '), issuer };
    },
    invalidateCredentials(what) {
      checkArguments('invalidateCredentials', { scope: what }, optionsOf({ scope: text }));
      // With `tokens` the person's token was refused; otherwise the key: SDK 2 says `client` first, SDK 1 says `all`.
      state.repeated ??= new Refused(what === 'tokens' ? 'invalid_grant' : 'invalid_client', undefined);
    },

    redirectToAuthorization: () => noRedirect(),
    saveCodeVerifier: () => noRedirect(),
    codeVerifier: () => noRedirect(),

    get task() {
      return state.task;
    },
    async end() {
      state.isEnded = true;
      await state.task?.end();
    },
    [Symbol.asyncDispose]: () => provider.end(),
  };
  return provider;
}

/**
 * The SDK requires an authorization endpoint, which the control plane does not have. Without a redirect it is not used.
 * The resource metadata is left out, so that the SDK fetches it, and each token request checks it.
 */
function discoveryOf({ options: { issuer }, plane }: State): OAuthDiscoveryState {
  return {
    authorizationServerUrl: issuer,
    authorizationServerMetadata: {
      issuer,
      authorization_endpoint: `${issuer}/oauth2/authorize`,
      token_endpoint: plane.tokenEndpoint,
      response_types_supported: [],
    },
  };
}

/** Checks that a token for the resource may be sent to the server. The provider stays with this server. */
async function bindServer(state: State, server: string | URL, resource: string | undefined): Promise<undefined> {
  checkArguments('validateResourceURL', { server, resource }, RESOURCE);
  const { options, metadata, bound } = state;
  if (resource === undefined || metadata?.resource !== resource) {
    throw new TypeError('The server has no protected-resource metadata, so no token is sent to it.');
  }
  const servers = metadata.authorization_servers ?? [];
  if (!servers.some((one) => String(one).replace(/\/$/, '') === options.issuer)) {
    throw new TypeError('The metadata of the server does not name this control plane, so no token is sent to it.');
  }
  if (state.resource !== undefined && state.resource !== resource) {
    throw new TypeError('The metadata of the server names another resource, so no token is sent to it.');
  }
  if (!isWithin(new URL(server), resource, state.origins)) {
    throw new TypeError('The address of the server is not within its resource, so no token is sent to it.');
  }
  const address = String(server);
  if (bound !== undefined && (bound.server !== address || bound.resource !== resource)) {
    throw new TypeError('This provider belongs to another server: make one for each transport.');
  }
  state.bound = { server: address, resource };
  // `prepareTokenRequest` sets the resource. The SDK would add a slash to a resource without a path.
  return undefined;
}

async function prepareRequest(state: State, named: string | undefined): Promise<URLSearchParams> {
  checkArguments('prepareTokenRequest', { scope: named }, optionsOf({ scope: optional(someText) }));
  if (state.isEnded) throw new TaskOver('ended');
  const refusal = state.repeated;
  state.repeated = undefined;
  if (refusal !== undefined) throw refusal;
  const { bound } = state;
  if (bound === undefined) throw new TypeError('The resource of the server was not checked.');
  // Without this renewal, the SDK would start a new task after a revocation.
  await renewTask(state);
  const scope = wantedScope(state, named);
  if (scope.length === 0) throw new TypeError('The server names no scope: pass scope.');
  for (const name of scope) state.asked.add(name);
  state.askedAt = state.options.clock.now();
  return new URLSearchParams({ resource: bound.resource, scope: scope.join(' ') });
}

/** @throws TaskOver if the task has ended */
async function renewTask(state: State): Promise<void> {
  const held = state.task;
  if (held === undefined) return;
  try {
    await held.narrow(held.scope);
  } catch (error) {
    // A concurrent request has replaced the task, and ended it.
    if (state.task === held) throw error;
  }
}

/** The scopes to request: those that the task holds (or begins with), and those that the server names. */
function wantedScope({ task, scope: first, metadata }: State, named: string | undefined): readonly string[] {
  const held = task?.scope ?? first ?? [];
  // Without a challenge, SDK 2 names every scope of the metadata. That is no demand if there are scopes to begin with.
  // SDK 1 names none, not even those of a challenge. Its step-up can only request every scope of the metadata.
  const all = metadata?.scopes_supported?.join(' ');
  const isFirst = task === undefined && first !== undefined;
  const added = isFirst && (named ?? all) === all ? [] : names([named ?? all ?? '']);
  return [...new Set([...names(held), ...added])].filter((name) => name !== '');
}

async function addCredentials(state: State, params: URLSearchParams, url: string | URL): Promise<void> {
  checkArguments('addClientAuthentication', { params, url }, CREDENTIALS);
  const { plane, bound, subjectToken, purpose } = state;
  // Only the control plane may get the person's token and the agent's assertion.
  if (String(url) !== plane.tokenEndpoint || bound === undefined) {
    throw new TypeError('The token request would go elsewhere than to the control plane.');
  }
  const person = typeof subjectToken === 'string' ? subjectToken : await subjectToken();
  // Otherwise the request would be sent without the person's token.
  if (!isAccessToken(person)) {
    throw new TypeError('mcpAuthorization: subjectToken must return an access token: a text without spaces.');
  }
  const scope = (params.get('scope') ?? '').split(' ');
  const form = await plane.exchangeForm({ subjectToken: person, resource: bound.resource, scope, purpose });
  for (const [name, value] of Object.entries(form)) params.set(name, value);
}

/** Begins a task with the token that the SDK got, and ends the previous task. */
async function beginTask(state: State, tokens: OAuthTokens): Promise<void> {
  checkArguments('saveTokens', { tokens }, optionsOf({ tokens: anyObject }));
  const { options, plane, bound, asked, askedAt, task: previous } = state;
  const issued = readIssuedToken({ ...tokens, ...taskOf(tokens.access_token) }, { at: askedAt, scope: [...asked] });
  const task = renewingTask(
    options,
    plane,
    { resource: bound?.resource ?? '', origins: [], waiting: undefined },
    issued,
  );
  state.task = task;
  if (state.isEnded) {
    await task.end();
    throw new TaskOver('ended');
  }
  // If this fails, the previous task ends when it expires.
  await previous?.end().catch(() => undefined);
}

interface Metadata {
  readonly resource: string;
  readonly authorization_servers?: readonly (string | URL)[] | undefined;
  readonly scopes_supported?: readonly string[] | undefined;
}

interface CheckedMcpOptions extends Pick<McpAuthorizationOptions, 'subjectToken'> {
  readonly resource: string | undefined;
  readonly origins: readonly string[] | undefined;
  readonly scope: readonly string[] | undefined;
  readonly purpose: string | undefined;
}

const CHECKS: Checks<McpAuthorizationOptions> = {
  agent: must('be made by createAgent', isAgent),
  subjectToken: (value, name) =>
    typeof value === 'function' || isAccessToken(value)
      ? []
      : [`${name} must be an access token (a text without spaces), or a function that returns one`],
  resource: optional(audience),
  origins: optional(originList),
  scope: optional(agentScopes),
  purpose: optional(purposeText),
};

/** What the SDK passes to the provider. */
const someText = must('be a text', (value) => typeof value === 'string');
const url = must('be a URL or its text', (value) => URL.canParse(String(value)));
const RESOURCE = optionsOf({ server: url, resource: optional(someText) });
const CREDENTIALS = optionsOf({
  params: must('be URLSearchParams', (value) => value instanceof URLSearchParams),
  url,
});

/** @throws TypeError that lists every wrong option */
function checkOptions(given: McpAuthorizationOptions): CheckedMcpOptions {
  checkArguments('mcpAuthorization', given, (value, name) => {
    const needsResource = given?.origins !== undefined && given.resource === undefined;
    const problems = optionsOf(CHECKS)(value, name);
    return needsResource ? [...problems, 'resource must be given with origins'] : problems;
  });
  const { subjectToken, resource, scope, purpose, origins } = given;
  return { subjectToken, resource, scope, purpose, origins: origins?.map((address) => new URL(address).origin) };
}

/** Whether a token for the resource may be sent to the server. */
function isWithin(server: URL, resource: string, origins: readonly string[] | undefined): boolean {
  if (origins !== undefined) return origins.includes(server.origin);
  const { origin, pathname } = new URL(resource);
  const asFolder = (path: string) => (path.endsWith('/') ? path : `${path}/`);
  return server.origin === origin && asFolder(server.pathname).startsWith(asFolder(pathname));
}

/** Reads from the token the members of the answer that the SDK drops. */
function taskOf(token: string): { readonly task_id?: unknown; readonly task_expires_at?: unknown } {
  try {
    const { task } = decodeJwt<{ readonly task?: { readonly id?: unknown; readonly exp?: unknown } }>(token);
    return { task_id: task?.id, task_expires_at: new Date(Number(task?.exp) * 1000).toISOString() };
  } catch {
    return {};
  }
}

function noRedirect(): never {
  throw new TypeError('An agent has no redirect.');
}
