/**
 * The exports of `@mandate/tool-server/mcp`: a guard in front of an MCP endpoint (streamable HTTP; TypeScript SDK 2), with
 * a policy for each tool. It decides before the SDK sees the message. So a refusal has the status, headers and body that
 * every tool server sends, and never becomes the SDK's 500. Only types of the SDK are imported.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import { formatScope } from '../../../../domain/scope.ts';
import { anyObject, checkArguments, optionsOf } from '../../arguments.ts';
import { authorizationHeaders, bearerToken } from '../core/bearer-token.ts';
import { keepClaims, claimsOf as requestClaims, type TaskTokenClaims } from '../core/claims.ts';
import { checkMiddleware } from '../core/options.ts';
import { answerRefusal, type Refusal } from '../core/refusal.ts';
import type { AccessRequest, ToolServer } from '../core/tool-server.ts';
import { answerLackOfApproval, approvedMessage, isLackOfApproval } from './approval.ts';
import { messageOfHeaders, type ProtocolFault, readJsonBody, readMessage } from './message.ts';
import { checkMcpOptions, type McpProtectionOptions } from './options.ts';
import { resourceMetadata } from './resource-metadata.ts';
import { presentedSession, replaceSession, sessionOwnership } from './session-ownership.ts';
import { type Asked, type Needed, toolPolicies } from './tool-policies.ts';

export type { DescribeCall, McpCall } from '../core/approval-text.ts';
export type { AuthorizeArguments, ToolCall } from './argument-check.ts';
export type { McpProtectionOptions } from './options.ts';
export type { McpToolPolicy } from './tool-policies.ts';

export interface McpProtection {
  /** Middleware for all HTTP methods of the MCP endpoint. It sets `request.body` to the message; pass that to the SDK. */
  readonly guard: McpMiddleware;
  /** Middleware for the whole app. Answers requests for protected-resource metadata (RFC 9728), and no others. */
  readonly metadata: McpMiddleware;
  /** The URL of the metadata, which follows from the audience. */
  readonly metadataUrl: string;
}

export type McpMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** A Node request with the members that a body parser or this guard adds. */
interface McpRequest extends IncomingMessage {
  body?: unknown;
  auth?: AuthInfo;
}

/** Node's timers fire at once for a longer duration. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The SDK's answer for an unknown session. Other clients cannot tell from it whether the session exists. */
const NO_SUCH_SESSION: ProtocolFault = { kind: 'fault', status: 404, code: -32001, message: 'Session not found' };

interface Parts {
  readonly toolServer: ToolServer;
  readonly maxBodyBytes: number;
  readonly policies: ReturnType<typeof toolPolicies>;
  readonly metadata: ReturnType<typeof resourceMetadata>;
  readonly sessions: ReturnType<typeof sessionOwnership>;
}

/** @throws TypeError for a policy that is invalid or has no scope, and if there is no policy at all */
export function mcpProtection(toolServer: ToolServer, options: McpProtectionOptions): McpProtection {
  const checked = checkMcpOptions(toolServer, options);
  const policies = toolPolicies(toolServer, checked);
  const metadata = resourceMetadata(
    toolServer,
    policies.all.flatMap(({ scope }) => scope),
  );
  const { maxBodyBytes } = checked;
  const parts: Parts = { toolServer, maxBodyBytes, policies, metadata, sessions: sessionOwnership() };

  return {
    guard: (request, response, next) => {
      checkMiddleware('The middleware', request, response, next);
      guard(parts, request, response, next).catch(next);
    },
    metadata: (request, response, next) => {
      checkMiddleware('The middleware', request, response, next);
      if (!metadata.answer(request, response)) next();
    },
    metadataUrl: metadata.url,
  };
}

async function guard(parts: Parts, request: McpRequest, response: ServerResponse, next: () => void): Promise<void> {
  const { toolServer, maxBodyBytes, policies, metadata, sessions } = parts;
  const authorization = authorizationHeaders(request.rawHeaders, request.headers);
  // 1. The tool or method. Without a bearer token, the body is not read.
  const isStranger = bearerToken(authorization) === undefined;
  const asked = isStranger ? undefined : await readAsked(request, maxBodyBytes);
  const { approval, ...needed }: Needed =
    asked === undefined || asked.kind === 'fault' ? { route: null, policy: 'unknown_tool' } : policies.find(asked);
  let fault = asked?.kind === 'fault' ? asked : undefined;

  // 2. The decision. The session must belong to the token's person and agent.
  const session = presentedSession(request);
  const access = await toolServer.authorize({
    ...needed,
    ...(approval && { approval: approval.check }),
    authorization,
    headers: request.headers,
    objection: (claims) => {
      if (session === undefined || sessions.idOf(session, claims) !== undefined) return undefined;
      fault = NO_SUCH_SESSION;
      return 'unknown_tool';
    },
  });
  // Other middleware, for example a timeout, has already answered. The SDK must not run.
  if (response.headersSent) return;
  if (access.kind === 'refused') {
    // The unread rest of a body that is too long would precede the next request.
    if (fault?.status === 413) response.setHeader('Connection', 'close');
    const isKnown = access.reason === 'unknown_tool';
    if (fault !== undefined && isKnown) answerFault(response, fault);
    else if (isLackOfApproval(access)) answerLackOfApproval(response, request.body, access);
    else {
      // Without a token the body stays unread, so only the headers may name the tool. Only the challenge uses that name.
      const named = isStranger ? namedBefore(request) : undefined;
      const { policy } = named === undefined ? needed : policies.find(named);
      answerRefusal(response, withMetadata(access, policy, metadata.url));
    }
    return;
  }

  // 3. The request as the SDK and the tools see it.
  const { claims } = access;
  const approved = approval?.arguments();
  if (approved !== undefined) request.body = approvedMessage(request.body, approved);
  const id = session === undefined ? undefined : sessions.idOf(session, claims);
  if (id !== undefined) replaceSession(request, id);
  sessions.mark(response, claims);
  if (isStream(asked)) endWithToken(response, toolServer.remainingMs(claims));
  request.auth = authInfo(claims, bearerToken(authorization) ?? '', metadata.url);
  keepClaims(request.auth, claims);
  keepClaims(request, claims);
  next();
}

/**
 * The verified claims of an allowed call: the person, and the agent that acts.
 *
 * @param context the SDK's context of a tool call or of the server factory, or the request behind the guard
 * @throws Error if no guard allowed the call
 */
export function claimsOf(
  context: Pick<ServerContext, 'http'> | Pick<McpRequestContext, 'authInfo'> | IncomingMessage,
): TaskTokenClaims {
  checkArguments('claimsOf', { context }, optionsOf({ context: anyObject }));
  const info = 'authInfo' in context ? context.authInfo : 'http' in context ? context.http?.authInfo : undefined;
  return requestClaims(info ?? context);
}

/** The tool or method of a request whose body the guard does not read: from a parsed body, or from headers. */
function namedBefore(request: McpRequest): Asked | undefined {
  if (request.method !== 'POST') return undefined;
  if (request.body === undefined) return messageOfHeaders(request.headers);
  const message = readMessage(request.body);
  return message.kind === 'fault' ? undefined : message;
}

async function readAsked(request: McpRequest, maxBytes: number): Promise<Asked | ProtocolFault> {
  const { method = '' } = request;
  if (method !== 'POST') return { kind: 'stream', method };
  if (request.body === undefined) {
    const read = await readJsonBody(request, maxBytes);
    if (read.kind === 'fault') return read;
    request.body = read.body;
  }
  return readMessage(request.body);
}

function isStream(asked: Asked | ProtocolFault | undefined): boolean {
  return (
    asked?.kind === 'stream' ||
    (asked?.kind === 'method' && /^(subscriptions\/listen|resources\/subscribe)$/.test(asked.name))
  );
}

/** Closes a stream when its token expires. A client with a newer token opens another. */
function endWithToken(response: ServerResponse, ms: number): void {
  const timer = setTimeout(() => response.destroy(), Math.min(ms, MAX_TIMER_MS));
  timer.unref();
  response.once('close', () => clearTimeout(timer));
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

function answerFault(response: ServerResponse, { status, code, message }: ProtocolFault): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

function authInfo(claims: TaskTokenClaims, token: string, resourceMetadataUrl: string): AuthInfo {
  const { aud, exp, scope, act, sub } = claims;
  const clientId = claims.clientId ?? act?.sub ?? sub;
  const info = { token, clientId, scopes: [...scope], expiresAt: exp, resource: new URL(aud), resourceMetadataUrl };
  // `token` is not enumerable, so that a log of the object does not show the token.
  return Object.defineProperty(info, 'token', { enumerable: false });
}
