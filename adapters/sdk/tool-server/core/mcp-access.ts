/**
 * The decision about a request to an MCP endpoint (streamable HTTP), before the server sees the message. Its session must
 * belong to the person and agent of the token, and a stream ends with the token that opened it. The SDK's adapter and the
 * guard share it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatScope } from '../../../../domain/scope.ts';
import { type ApprovedCall, type ApprovedCalls, type CallsOfSession, refusedResponse } from './approved-calls.ts';
import { authorizationHeaders } from './bearer-token.ts';
import type { TaskTokenClaims } from './claims.ts';
import type { ListsOfToken } from './list-reader.ts';
import type { AnswerCopy, ReadList } from './listed-tools.ts';
import { answerInside, opensUrls } from './mcp-answers.ts';
import { approvedMessage, sentId } from './mcp-approval.ts';
import { HEADERS_DIFFER, headersDiffer, messageOfHeaders } from './mcp-headers.ts';
import { membersOf, type ProtocolFault, readMessage, sentParts } from './mcp-message.ts';
import { answerRefusal, type Refusal, type RefusalReason } from './refusal.ts';
import type { ResourceMetadata } from './resource-metadata.ts';
import { type OwnSession, presentedSession, replaceSession, type SessionOwnership } from './session-ownership.ts';
import type { Asked, Needed, ToolPolicies } from './tool-policies.ts';
import type { AccessRequest, ToolServer } from './tool-server.ts';

export interface McpRules {
  readonly toolServer: ToolServer;
  readonly policies: ToolPolicies;
  readonly metadata: ResourceMetadata;
  readonly sessions: SessionOwnership;
  readonly approvedCalls: ApprovedCalls;
  readonly readList?: ReadList | undefined;
  /** Given if lists have only what the token may use. */
  readonly cutLists?: Pick<ListsOfToken, 'report' | 'onTools'> | undefined;
}

/** The body of a POST, which is JSON. */
export interface McpBody {
  /** The value that a body parser has read before; `undefined` if there is none. */
  readonly parsed: unknown;
  /** Whether the caller discards what `read` leaves unread. Otherwise the connection is closed. */
  readonly discardsRest?: boolean;
  /** Reads the value, or returns a reason not to read it. It is called only for a token that is verified. */
  read(
    claims: TaskTokenClaims,
  ): Promise<{ readonly kind: 'read'; readonly body: unknown; readonly text: string } | ProtocolFault | RefusalReason>;
}

export interface AllowedMessage {
  readonly claims: TaskTokenClaims;
  /**
   * The message for the server in place of the one that was sent. For an approved call: the call as it was approved. For a
   * response, while an approved call of the session runs: an error.
   */
  readonly instead: object | undefined;
  /** The calls of this session. */
  readonly calls: CallsOfSession;
  /** Whether the answer may begin a session. */
  readonly beginsSession: boolean;
  /** The call of this request, if a person approved it. The caller ends it. */
  readonly call: ApprovedCall | undefined;
  /** Gets the answer, if that is to be read on its way to the client. */
  readonly copy: AnswerCopy | undefined;
  /** Cuts the lists in the answer. */
  readonly lists: ListsOfToken | undefined;
}

/** Node's timers fire at once for a longer duration. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The SDK's answer for an unknown session. Other clients cannot tell from it whether the session exists. */
const NO_SUCH_SESSION: ProtocolFault = { kind: 'fault', status: 404, code: -32001, message: 'Session not found' };

/**
 * Decides, and answers a refused request. An allowed one gets the server's own session id, and its answer the client's.
 *
 * @returns `undefined` if the request is answered
 */
export async function decideMcp(
  { toolServer, policies, metadata, sessions, approvedCalls, readList, cutLists }: McpRules,
  request: IncomingMessage,
  body: McpBody,
  response: ServerResponse,
): Promise<AllowedMessage | undefined> {
  const session = presentedSession(request);
  let asked: Asked | ProtocolFault | undefined;
  let message: unknown;
  let text: string | undefined;
  let needed: Needed = UNREAD;
  let fault: ProtocolFault | undefined;
  let own: OwnSession | undefined;

  // 1. The token. 2. The tool or method. 3. The decision. The session must belong to the token's person and agent. Before 2 an
  // event names no tool: the text of a stranger stays out of the log.
  const access = await toolServer.authorize({
    ...UNREAD,
    async asks(claims) {
      const read = await readAsked(request, body, claims);
      if (typeof read === 'string') return read;
      ({ asked, message, text } = read);
      needed = asked.kind === 'fault' ? UNREAD : policies.find(asked);
      fault = asked.kind === 'fault' ? asked : undefined;
      // `objection` below asks that of the tool.
      const { approval, objection, ...rest } = needed;
      return { ...rest, ...(approval && { approval: approval.check }) };
    },
    authorization: authorizationHeaders(request.rawHeaders, request.headers),
    headers: request.headers,
    objection: (claims) => {
      own = session === undefined ? undefined : sessions.find(session, claims);
      if (session !== undefined && own === undefined) {
        fault = NO_SUCH_SESSION;
        return 'unknown_tool';
      }
      return headersDiffer(request, message) ? 'headers_differ' : needed.objection?.(claims);
    },
  });
  // Other middleware, for example a timeout, has already answered. The server must not run.
  if (response.headersSent) return undefined;
  if (access.kind === 'refused') {
    // The unread rest of a body that is too long would precede the next request.
    if (fault?.status === 413 && body.discardsRest !== true) response.setHeader('Connection', 'close');
    if (fault !== undefined && access.reason === 'unknown_tool') answerFault(response, fault);
    else if (access.reason === 'headers_differ') {
      answerFault(response, HEADERS_DIFFER, sentId({ id: membersOf(message)?.get('id'), sent: sentParts(text) }));
    } else if (
      asked?.kind !== 'tool' ||
      !answerInside(response, access, { called: asked, message, headers: request.headers, session: own })
    ) {
      // Of a token that is refused, only the headers name the tool. Only the challenge uses that name.
      const named = asked === undefined && request.method === 'POST' ? messageOfHeaders(request.headers) : undefined;
      const { policy } = named === undefined ? needed : policies.find(named);
      answerRefusal(response, withMetadata(access, policy, metadata.url));
    }
    return undefined;
  }

  // 4. The request as the server sees it.
  const { claims } = access;
  const args = needed.approval?.arguments();
  const id = own?.id;
  if (id !== undefined) replaceSession(request, id);
  const beginsSession = asked?.kind === 'method' && asked.name === 'initialize';
  sessions.mark(response, claims, {
    passes: (answered) => beginsSession || answered === id,
    opensUrls: beginsSession ? opensUrls(capabilitiesIn(message)) : own?.opensUrls === true,
  });
  if (isStream(asked)) endWithToken(response, toolServer.remainingMs(claims));
  const calls = approvedCalls.of(id, claims);
  const call = args && calls.begin(membersOf(message)?.get('id'));
  const isLate = asked?.kind === 'response' && calls.isRunning();
  const instead = isLate ? refusedResponse(message) : args && approvedMessage(message, args);
  const copy = asked === undefined || asked.kind === 'fault' ? undefined : readList?.(asked);
  const lists = cutLists && { ...cutLists, may: policies.mayUse(claims), id: membersOf(message)?.get('id') };
  return { claims, instead, calls, beginsSession, call, copy, lists };
}

/**
 * Closes the connection of a stream when its token expires, also if the stream waits there for an earlier answer. A client
 * with a newer token opens another.
 */
function endWithToken(response: ServerResponse, ms: number): void {
  const cut = () => {
    response.destroy();
    // A response that waits has no connection yet. A request that Node has destroyed has none any more.
    response.req.socket?.destroy();
  };
  const timer = setTimeout(cut, Math.min(ms, MAX_TIMER_MS));
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}

/** What a request asks for, and the message in its body if there is one. */
interface ReadRequest {
  readonly asked: Asked | ProtocolFault;
  readonly message?: unknown;
  /** The text of the body, unless a body parser has read it. */
  readonly text?: string;
}

/** The event of a request whose body is unread names no tool. */
const UNREAD = { route: null, policy: 'unknown_tool' } as const;

async function readAsked(
  { method = '' }: Pick<IncomingMessage, 'method'>,
  { parsed, read }: McpBody,
  claims: TaskTokenClaims,
): Promise<ReadRequest | RefusalReason> {
  if (method !== 'POST') return { asked: { kind: 'stream', method } };
  if (parsed !== undefined) return { asked: readMessage(parsed), message: parsed };
  const found = await read(claims);
  if (typeof found === 'string') return found;
  if (found.kind === 'fault') return { asked: found };
  const { body: message, text } = found;
  return { asked: readMessage(message, text), message, text };
}

/** The client's capabilities in the message `initialize`. */
function capabilitiesIn(message: unknown): unknown {
  return membersOf(membersOf(message)?.get('params'))?.get('capabilities');
}

function isStream(asked: Asked | ProtocolFault | undefined): boolean {
  return (
    asked?.kind === 'stream' ||
    (asked?.kind === 'method' && /^(subscriptions\/listen|resources\/subscribe)$/.test(asked.name))
  );
}

/**
 * Adds `resource_metadata` (RFC 9728 §5.1) to the challenge. Adds the needed `scope` (RFC 6750 §3) to a 401, and to a 403
 * that more scopes would avoid. MCP clients request these scopes next.
 */
function withMetadata(refusal: Refusal, policy: AccessRequest['policy'], url: string): Refusal {
  const challenge = refusal.headers['WWW-Authenticate'];
  if (challenge === undefined) return refusal;
  const helps = refusal.status === 401 || refusal.reason === 'insufficient_scope';
  const needed = helps && typeof policy !== 'string' ? policy.scope : [];
  const scope = needed.length > 0 ? `, scope="${formatScope(needed)}"` : '';
  const whole = `${challenge}${scope}, resource_metadata="${url}"`;
  return { ...refusal, headers: { ...refusal.headers, 'WWW-Authenticate': whole } };
}

/** @param id of the request, as JSON */
function answerFault(response: ServerResponse, { status, code, message }: ProtocolFault, id = 'null'): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(`{"jsonrpc":"2.0","error":${JSON.stringify({ code, message })},"id":${id}}`);
}
