/**
 * The mode `proxy`: the guard stands in front of a server, and passes on what it allows. The server learns from the headers
 * `Mandate-*` who acts for whom, and never gets the token.
 *
 * In order: a malformed request is refused. The protected-resource metadata is answered. At `mcp.path` the message names
 * the tool. Everywhere else method and path name the route. An allowed request goes to the upstream.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ApprovedCalls, approvedCalls } from '../core/approved-calls.ts';
import { authorizationHeaders } from '../core/bearer-token.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import { type HeldBodies, heldBodies } from '../core/held-bodies.ts';
import { listedTools } from '../core/listed-tools.ts';
import type { McpRules } from '../core/mcp-access.ts';
import type { CalledTool } from '../core/mcp-message.ts';
import { headerValues } from '../core/raw-headers.ts';
import { answerRefusal } from '../core/refusal.ts';
import { type ResourceMetadata, resourceMetadata } from '../core/resource-metadata.ts';
import { presentedSession, type SessionOwnership, sessionOwnership } from '../core/session-ownership.ts';
import { toolPolicies } from '../core/tool-policies.ts';
import type { ToolServer } from '../core/tool-server.ts';
import { callRules } from './call-rules.ts';
import type { ProxyConfiguration } from './configuration.ts';
import { cutLists } from './cut-lists.ts';
import { describeTool, reporting, reportRefused, type UnshownCall } from './described-call.ts';
import { messageHeaders, requestHeaders, withoutCoding } from './forwarded-headers.ts';
import type { GuardMode } from './guard-mode.ts';
import { type FoundRoute, MALFORMED } from './guard-routes.ts';
import { identityHeaders, type Naming, namingOf } from './identity-headers.ts';
import { type AllowedRequest, decideAtMcp } from './mcp-endpoint.ts';
import { openOwnAnswer } from './own-answer.ts';
import { proxyRoutes } from './proxy-routes.ts';
import { hasBody } from './request-body.ts';
import { pathOfTarget } from './request-target.ts';
import { routeCall } from './route-call.ts';
import { sessionAnswer } from './session-answers.ts';
import { toolArguments } from './tool-arguments.ts';
import { type Forwarded, type Upstream, upstreamAt } from './upstream.ts';

/** How long the rest of a body is read and discarded after the answer. A client that still sends is then cut off. */
const UNREAD_MS = 2000;

/** What holds for the requests that begin now. */
interface Rules {
  readonly toolServer: ToolServer;
  readonly configuration: ProxyConfiguration;
  readonly naming: Naming;
  readonly find: (method: string, path: string) => FoundRoute;
  readonly onUnshown: (call: UnshownCall) => void;
  readonly metadata: ResourceMetadata;
  readonly sessions: SessionOwnership;
  readonly approvedCalls: ApprovedCalls;
  /** Of all requests, also those under earlier rules. */
  readonly held: HeldBodies;
  /** `undefined` without `mcp` in the file. */
  readonly mcp: McpRules | undefined;
  readonly upstream: Upstream;
  /** The `Host` for the upstream, from that of the client. */
  readonly hostFor: (sent: string | undefined) => string;
}

/** The MCP server lists tools that the file has no policy for. */
export class ToolsWithoutPolicy extends Error {}

/**
 * @param onError gets one error for each fault of the upstream, and for tools that the file lacks
 * @param onUnshown gets each call that no person is asked about, because the lines of the file cannot show it
 * @throws TypeError for rules that are invalid
 */
export function proxyMode(
  toolServer: ToolServer,
  configuration: ProxyConfiguration,
  onError: (error: Error) => void,
  onUnshown: (call: UnshownCall) => void = () => undefined,
): GuardMode {
  let rules = rulesOf(toolServer, configuration, { onError, onUnshown }, undefined);
  return {
    // An upload may take any time. `upstream.ts` ends one whose client sends nothing.
    requestMs: 0,
    use(nextServer, next) {
      if (next.mode !== 'proxy') throw new TypeError('The mode of the guard cannot change.');
      // Requests under way go to the earlier upstream, also those that are decided now. Its connections end by themselves.
      rules = rulesOf(nextServer, next, { onError, onUnshown }, rules);
    },
    async answer(request, response, isMalformed) {
      const { socket } = request;
      response.on('finish', () => discardRest(request, socket));
      const path = isMalformed ? undefined : plainPath(request);
      if (path === undefined) response.setHeader('Connection', 'close');
      await answer(rules, path, request, response);
    },
    close: () => rules.upstream.close(),
  };
}

/** @throws TypeError for rules that are invalid */
function rulesOf(
  toolServer: ToolServer,
  configuration: ProxyConfiguration,
  { onError, onUnshown }: Pick<Rules, 'onUnshown'> & { readonly onError: (error: Error) => void },
  earlier: Rules | undefined,
): Rules {
  const { routes, mcp, upstream: origin, upstreamTimeoutMs: timeoutMs } = configuration;
  const policies = mcp && mcpPolicies(toolServer, mcp, configuration.compileSchema, onUnshown);
  const metadata = resourceMetadata(
    toolServer,
    [...routes, ...(policies?.all ?? [])].flatMap(({ scope }) => scope),
  );
  const sessions = sessionsOf(toolServer, earlier);
  const running = earlier?.approvedCalls ?? approvedCalls();
  const listed = policies && listedTools(policies, (sentence) => onError(new ToolsWithoutPolicy(sentence)));
  const isCut = mcp?.list === 'allowed';
  return {
    toolServer,
    configuration,
    naming: namingOf(configuration),
    find: proxyRoutes(toolServer, configuration),
    onUnshown,
    metadata,
    sessions,
    approvedCalls: running,
    held: earlier?.held ?? heldBodies(),
    mcp: policies && {
      toolServer,
      policies,
      metadata,
      sessions,
      approvedCalls: running,
      readList: isCut ? undefined : listed?.readList,
      cutLists: isCut && listed ? { report: onError, onTools: listed.readPage } : undefined,
    },
    upstream:
      earlier?.configuration.upstream === origin && earlier.configuration.upstreamTimeoutMs === timeoutMs
        ? earlier.upstream
        : upstreamAt(origin, { timeoutMs, onError }),
    hostFor: hostAt(origin),
  };
}

function mcpPolicies(
  toolServer: ToolServer,
  { tools, methods }: NonNullable<ProxyConfiguration['mcp']>,
  compile: ProxyConfiguration['compileSchema'],
  onUnshown: Rules['onUnshown'],
): McpRules['policies'] {
  const described = Object.entries(tools).map(([name, { approval, arguments: schema, ...policy }]) => {
    const rules = callRules(approval, schema, compile);
    const { checkArguments, known } = rules;
    const object = checkArguments && toolArguments(checkArguments, known);
    const objection = (called: CalledTool, claims: TaskTokenClaims) =>
      reportRefused(object?.(called), { route: name, claims }, onUnshown);
    const describe = approval && describeTool(approval, rules);
    return [name, { ...policy, known, ...(describe && { approval: describe }), ...(object && { objection }) }];
  });
  // No file has a function `authorize`.
  const policies = toolPolicies(toolServer, { tools: Object.fromEntries(described), methods, authorizeTimeoutMs: 0 });
  return {
    ...policies,
    find(asked) {
      const { approval, ...needed } = policies.find(asked);
      if (approval === undefined) return needed;
      const check = reporting(approval.check, needed.route ?? '', onUnshown);
      return { ...needed, approval: { ...approval, check } };
    },
  };
}

/** Sessions outlive other rules and other control planes, each of which has its own persons and agents, but no other audience. */
function sessionsOf({ audience }: ToolServer, earlier: Rules | undefined): SessionOwnership {
  return earlier?.toolServer.audience === audience ? earlier.sessions : sessionOwnership();
}

/**
 * The path of a request that the proxy may pass on, without the query. A client that asks for another protocol than `h2c`
 * waits for it. `h2c` is an offer that a server may ignore (RFC 9113 §3.1).
 */
function plainPath({ url = '', rawHeaders }: IncomingMessage): string | undefined {
  const isHttp = headerValues(rawHeaders, 'upgrade').every((protocol) => /^h2c$/i.test(protocol));
  return isHttp ? pathOfTarget(url) : undefined;
}

/** @param path `undefined` if the request is malformed */
async function answer(
  rules: Rules,
  path: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { configuration, naming, metadata, upstream, hostFor, mcp } = rules;
  if (path !== undefined && metadata.answer(request, response)) return;
  openOwnAnswer(configuration.origins, request, response);
  const allowed = await decide(rules, path, request, response);
  if (allowed === undefined) return;
  const { claims, approved, copy, lists, ...sent } = allowed;
  const headers = requestHeaders(request.rawHeaders, {
    host: hostFor(request.headers.host),
    identity: identityHeaders(claims, naming),
    passed: configuration.passHeaders,
  });
  const readsSession = approved !== undefined && mcp?.policies.askForApproval === true;
  const session = readsSession ? sessionReader(rules, { claims, approved, request, headers }) : undefined;
  const reader = lists === undefined ? session : cutLists(session, lists);
  const asked = reader === undefined ? headers : withoutCoding(headers);
  // Not awaited: an answer that streams for hours would keep what was needed to decide.
  upstream.forward(request, response, { headers: asked, reader, copy, ...sent });
  const { call } = readsSession ? approved : {};
  if (call === undefined) return;
  // The server may go on after the client has left.
  response.once('close', () => call.lose());
}

/** Reads the answer for the requests of the server to its client. */
function sessionReader(
  { upstream, approvedCalls: running }: Rules,
  {
    claims,
    approved,
    request: { method, url = '' },
    headers,
  }: {
    readonly claims: TaskTokenClaims | undefined;
    readonly approved: NonNullable<AllowedRequest['approved']>;
    readonly request: Pick<IncomingMessage, 'method' | 'url'>;
    readonly headers: readonly string[];
  },
): NonNullable<Forwarded['reader']> {
  return (received) => {
    const begun = approved.beginsSession ? received.headers['mcp-session-id'] : undefined;
    const session = typeof begun === 'string' ? begun : undefined;
    // The answer to `initialize` begins the session that later calls belong to.
    const calls = session === undefined || claims === undefined ? approved.calls : running.of(session, claims);
    return sessionAnswer(received, { ...approved, calls, isStream: method === 'GET' }, (message) => {
      const body = Buffer.from(message);
      upstream.tell(url, messageHeaders(headers, body, session), body);
    });
  };
}

/** Answers a refused request. @returns `undefined` if the request is answered */
async function decide(
  { toolServer, configuration, find, onUnshown, mcp, held }: Rules,
  path: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AllowedRequest | undefined> {
  const { maxHeldBodies, maxBodyBytes } = configuration;
  const { issuers } = toolServer;
  const hold = (claims: TaskTokenClaims) => held.hold(claims, { maxHeldBodies, issuers }, response);
  const { method = '', rawHeaders, headers } = request;
  let found = path === undefined ? MALFORMED : find(method, path);
  if (mcp !== undefined && path === configuration.mcp?.path) {
    if (found === 'open' && isPreflight(request)) return { claims: undefined };
    if (method === 'POST' || !hasBody(request)) return decideAtMcp(mcp, request, response, { hold, maxBodyBytes });
    // Only the message of a POST is read. A server could take another body for a message.
    found = MALFORMED;
  }
  if (found === 'open') return { claims: undefined };
  const { describe, checkArguments, ...needed } = found;
  const route = needed.route ?? '';
  const hasRules = describe !== undefined || checkArguments !== undefined;
  const call = hasRules ? routeCall(toolServer, { describe, checkArguments }, { request, response, hold }) : undefined;
  const { objection, approval } = call ?? {};
  const access = await toolServer.authorize({
    ...needed,
    ...(objection && {
      objection: async (claims) => reportRefused(await objection(claims), { route, claims }, onUnshown),
    }),
    ...(approval && { approval: reporting(approval, route, onUnshown) }),
    authorization: authorizationHeaders(rawHeaders, headers),
    headers,
  });
  if (access.kind === 'allowed') {
    const { claims } = access;
    return { claims, body: call?.bytes(), release: call?.release, isApproved: approval !== undefined };
  }
  answerRefusal(response, access);
  return undefined;
}

/**
 * A server on loopback gets the client's `Host`, as without the guard: some compare it, and some make links of it. A server
 * behind https gets its own, by which such servers choose the site and the certificate.
 */
function hostAt(upstream: string): Rules['hostFor'] {
  const { protocol, host } = new URL(upstream);
  return protocol === 'https:' ? () => host : (sent = host) => sent;
}

/** A browser asks so before the request of a script (Fetch, "CORS-preflight fetch"): without a token, body and session. */
function isPreflight(request: IncomingMessage): boolean {
  return request.method === 'OPTIONS' && !hasBody(request) && presentedSession(request) === undefined;
}

/** Closing at once would reset the connection, and the client could lose the answer. */
function discardRest(request: IncomingMessage, socket: Socket): void {
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => socket.destroy(), UNREAD_MS);
  request.once('close', () => clearTimeout(timer));
}
