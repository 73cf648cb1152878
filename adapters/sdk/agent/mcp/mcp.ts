/**
 * The exports of `@mandate/agent/mcp`: an `OAuthClientProvider` for the official MCP client (TypeScript SDK 2, and SDK 1
 * from 1.32). Only types of the SDK are imported.
 *
 * The SDK sends the token exchange, and a task of this library keeps the result. The SDK alone does not suffice: it renews
 * only tokens that it got by a browser redirect, and otherwise answers every 401 with a new exchange. A task alone does
 * not suffice either: for a step-up (403 `insufficient_scope`) the SDK must send the token request itself.
 *
 * The end of a task withdraws the approvals that wait in it, and those that a person has given. So a task is replaced only by
 * one with more scopes. The SDK does not say why a server refused: `fetch` of the provider reads it.
 */

import type { OAuthClientProvider, OAuthDiscoveryState, OAuthTokens } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { anyObject, checkArguments, membersOf, must, optional, optionsOf, text } from '../../arguments.ts';
import { partsOf } from '../agent-parts.ts';
import type { ControlPlane } from '../control-plane.ts';
import { Refused, TaskOver } from '../errors.ts';
import { names, readIssuedToken } from '../issued-token.ts';
import { type CheckedAgentOptions, isAccessToken } from '../options.ts';
import { renewingTask, type Task } from '../task.ts';
import { type CheckedMcpOptions, checkMcpOptions, type McpAuthorizationOptions } from './options.ts';
import { lackedBy, type StepUp, sendForTask } from './step-up.ts';

export type { McpAuthorizationOptions } from './options.ts';

/** The provider for one transport. It stays with the first server that it was used for. */
export type McpAuthorization = Required<
  Pick<OAuthClientProvider, 'prepareTokenRequest' | 'addClientAuthentication' | 'validateResourceURL'>
> &
  OAuthClientProvider & {
    /** The current task. `undefined` until the server has asked for a token. */
    readonly task: Task | undefined;
    /**
     * For the option `fetch` of the transport. With it, a 403 that no scope would avoid costs no token request, and the error
     * of the SDK has the reason of the server. SDK 1 gets more scopes only with it. It sends with the `fetch` of the agent.
     */
    readonly fetch: typeof globalThis.fetch;
    /** Ends the task. Call it when the work is done, and also after an error. @throws NotNow, Refused */
    end(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
  };

/** The state of one provider: its options, and its task since. */
interface State extends CheckedMcpOptions, StepUp {
  readonly options: CheckedAgentOptions;
  readonly plane: ControlPlane;
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

/**
 * @throws TypeError that lists every wrong option
 *
 * @example
 * ```ts
 * import { mcpAuthorization } from '@mandate/agent/mcp';
 * import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
 *
 * const authProvider = mcpAuthorization({ agent, subjectToken, scope: ['jira:read'] });
 * const client = new Client({ name: 'triage', version: '1.0.0' });
 * const { fetch } = authProvider;
 * await client.connect(new StreamableHTTPClientTransport(new URL(`${resource}/mcp`), { authProvider, fetch }));
 * const { content } = await client.callTool({ name: 'read_issue', arguments: { key: 'OPS-7' } });
 * console.log(JSON.stringify(content));
 * await client.close();
 * await authProvider.end();
 * ```
 */
export function mcpAuthorization(given: McpAuthorizationOptions): McpAuthorization {
  const checked = checkMcpOptions(given);
  const state: State = {
    ...partsOf(given.agent),
    ...checked,
    task: undefined,
    isEnded: false,
    bound: undefined,
    metadata: undefined,
    asked: new Set(),
    askedAt: 0,
    needed: new Set(),
    withheld: [],
    namesScopes: false,
    isRejected: false,
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
    async fetch(input, init) {
      checkArguments('fetch', { input, init }, FETCH);
      return sendForTask(state, input, init);
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
  const before = state.task;
  await renewTask(state);
  const scope = wantedScope(state, named, before);
  state.isRejected = false;
  state.namesScopes = named !== undefined;
  state.needed.clear();
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

const READ_REASON = 'To read its reason, pass fetch: authProvider.fetch to the transport.';

/**
 * The scopes to request: those that the task holds (or begins with), and those that the server names.
 *
 * @param before the task before its renewal
 * @throws Refused for a step-up without a scope that the task lacks
 */
function wantedScope(state: State, named: string | undefined, before: Task | undefined): readonly string[] {
  const { task, scope: first, metadata } = state;
  if (task === undefined) {
    // Without a challenge, SDK 2 names every scope of the metadata. That is no demand if there are scopes to begin with.
    const all = metadata?.scopes_supported?.join(' ');
    const added = first !== undefined && (named ?? all) === all ? [] : names([named ?? all ?? '']);
    return [...new Set([...names(first ?? []), ...added])].filter((name) => name !== '');
  }
  // After a 401 the new token needs no more scopes than the old one.
  if (state.isRejected) return task.scope;
  // SDK 1 names no scopes, not even those of a challenge.
  const added = lackedBy(task, named === undefined ? [...state.needed] : names([named]));
  // A concurrent call may have got them meanwhile: the SDK repeats the call after the exchange.
  if (added.length === 0 && task === before)
    throw new Refused('insufficient_scope', 'no_scope_named', undefined, READ_REASON);
  return [...task.scope, ...added];
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

/** Begins a task with the token that the SDK got. One without more scopes is ended, otherwise the previous task. */
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
  state.withheld = [...asked].filter((name) => !task.scope.includes(name));
  const isKept = previous !== undefined && !state.isEnded && lackedBy(previous, task.scope).length === 0;
  if (!isKept) state.task = task;
  if (state.isEnded) {
    await task.end();
    throw new TaskOver('ended');
  }
  const over = isKept ? task : previous;
  // If this fails, the task ends when it expires.
  await over?.end().catch(() => undefined);
}

interface Metadata {
  readonly resource: string;
  readonly authorization_servers?: readonly (string | URL)[] | undefined;
  readonly scopes_supported?: readonly string[] | undefined;
}

/** What the SDK passes to the provider. */
const someText = must('be a text', (value) => typeof value === 'string');
const url = must('be a URL or its text', (value) => URL.canParse(String(value)));
const RESOURCE = optionsOf({ server: url, resource: optional(someText) });
const FETCH = optionsOf({ input: url, init: optional(anyObject) });
const CREDENTIALS = optionsOf({
  params: must('be URLSearchParams', (value) => value instanceof URLSearchParams),
  url,
});

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
