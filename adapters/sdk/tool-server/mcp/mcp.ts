/**
 * The exports of `@mandate/tool-server/mcp`: a guard in front of an MCP endpoint (streamable HTTP; TypeScript SDK 2), with
 * a policy for each tool. It decides before the SDK sees the message. So a refusal has the status, headers and body that
 * every tool server sends, and never becomes the SDK's 500. Only types of the SDK are imported.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import { anyObject, callable, checkArguments, membersOf, optionsOf } from '../../arguments.ts';
import { approvedCalls } from '../core/approved-calls.ts';
import { authorizationHeaders, bearerToken } from '../core/bearer-token.ts';
import { keepClaims, claimsOf as requestClaims, type TaskTokenClaims } from '../core/claims.ts';
import { type HeldBodies, heldBodies, type Release } from '../core/held-bodies.ts';
import { toolsWithoutPolicy } from '../core/listed-tools.ts';
import { decideMcp, type McpBody, type McpRules } from '../core/mcp-access.ts';
import { readJsonBody } from '../core/mcp-message.ts';
import { checkMiddleware } from '../core/options.ts';
import { resourceMetadata } from '../core/resource-metadata.ts';
import { sessionOwnership } from '../core/session-ownership.ts';
import { toolPolicies } from '../core/tool-policies.ts';
import type { ToolServer } from '../core/tool-server.ts';
import { listCutting, type McpHandler } from './list-cutting.ts';
import { checkMcpOptions, type McpProtectionOptions } from './options.ts';

export type { DescribeCall, McpCall } from '../core/approval-text.ts';
export type { AuthorizeArguments, ToolCall } from '../core/argument-check.ts';
export type { McpToolPolicy } from '../core/tool-policies.ts';
export type { McpHandler } from './list-cutting.ts';
export type { McpProtectionOptions } from './options.ts';

export interface McpProtection {
  /** Middleware for all HTTP methods of the MCP endpoint. It sets `request.body` to the message; pass that to the SDK. */
  readonly guard: McpMiddleware;
  /** Middleware for the whole app. Answers requests for protected-resource metadata (RFC 9728), and no others. */
  readonly metadata: McpMiddleware;
  /** The URL of the metadata, which follows from the audience. */
  readonly metadataUrl: string;
  /** The same handler. With `list: 'allowed'`, its lists name only what the token may use. */
  readonly allowedLists: (handler: McpHandler) => McpHandler;
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

interface Parts extends McpRules {
  readonly maxBodyBytes: number;
  readonly maxHeldBodies: number;
  readonly held: HeldBodies;
}

/**
 * @throws TypeError for a policy that is invalid or has no scope, and if there is no policy at all
 *
 * @example
 * ```ts
 * import { mcpProtection } from '@mandate/tool-server/mcp';
 *
 * const { guard, metadata } = mcpProtection(toolServer, { tools: { read_issue: { scope: ['jira:read'] } } });
 * app.use(metadata);
 * app.all('/mcp', guard, (request, response) => void mcp(request, response, request.body));
 * ```
 */
export function mcpProtection(toolServer: ToolServer, options: McpProtectionOptions): McpProtection {
  const checked = checkMcpOptions(toolServer, options);
  const policies = toolPolicies(toolServer, checked);
  const metadata = resourceMetadata(
    toolServer,
    policies.all.flatMap(({ scope }) => scope),
  );
  const { maxBodyBytes, maxHeldBodies, toolNames, list } = checked;
  const warning = toolsWithoutPolicy(policies, toolNames);
  if (warning !== undefined) process.emitWarning(warning, WITHOUT_POLICY);
  const cutting = list === 'allowed' ? listCutting(policies) : undefined;
  const parts: Parts = {
    toolServer,
    maxBodyBytes,
    maxHeldBodies,
    held: heldBodies(),
    policies,
    metadata,
    sessions: sessionOwnership(),
    approvedCalls: approvedCalls(),
  };

  return {
    guard: (request, response, next) => {
      checkMiddleware('The middleware', request, response, next);
      if (cutting?.isUsed() === false) next(new Error(NOT_CUT));
      else guard(parts, request, response, next).catch(next);
    },
    metadata: (request, response, next) => {
      checkMiddleware('The middleware', request, response, next);
      if (!metadata.answer(request, response)) next();
    },
    metadataUrl: metadata.url,
    allowedLists(handler) {
      checkArguments('allowedLists', handler, membersOf({ fetch: callable }));
      return cutting === undefined ? handler : cutting.cut(handler);
    },
  };
}

const NOT_CUT =
  "mcpProtection: with list 'allowed', the server's handler is one that allowedLists returns. None was passed to it.";
const WITHOUT_POLICY = { type: 'MandateWarning', code: 'MANDATE_TOOL_WITHOUT_POLICY' };

async function guard(parts: Parts, request: McpRequest, response: ServerResponse, next: () => void): Promise<void> {
  const { maxBodyBytes, maxHeldBodies, held, metadata } = parts;
  const { issuers } = parts.toolServer;
  let release: Release | undefined;
  const body: McpBody = {
    parsed: request.body,
    async read(caller) {
      release = held.hold(caller, { maxHeldBodies, issuers }, response);
      if (release === undefined) return 'overloaded';
      const found = await readJsonBody(request, maxBodyBytes);
      if (found.kind === 'read') request.body = found.body;
      return found;
    },
  };
  const allowed = await decideMcp(parts, request, body, response);
  // The SDK has the body now. Its answer may stream for hours.
  release?.();
  if (allowed === undefined) return;
  const { claims, instead, call } = allowed;
  if (instead !== undefined) request.body = instead;
  response.once('close', () => (response.writableFinished ? call?.end() : call?.lose()));
  const token = bearerToken(authorizationHeaders(request.rawHeaders, request.headers)) ?? '';
  request.auth = authInfo(claims, token, metadata.url);
  keepClaims(request.auth, claims);
  keepClaims(request, claims);
  next();
}

/**
 * The verified claims of an allowed call: the person, and the agent that acts.
 *
 * @param context the SDK's context of a tool call or of the server factory, or the request behind the guard
 * @throws Error if no guard allowed the call
 *
 * @example
 * ```ts
 * import { claimsOf } from '@mandate/tool-server/mcp';
 *
 * mcpServer.registerTool('read_issue', {}, (context) => {
 *   const { sub, act } = claimsOf(context);
 *   return { content: [{ type: 'text', text: `Read for ${sub} by ${act?.sub}` }] };
 * });
 * ```
 */
export function claimsOf(
  context: Pick<ServerContext, 'http'> | Pick<McpRequestContext, 'authInfo'> | ToolExtra | IncomingMessage,
): TaskTokenClaims {
  checkArguments('claimsOf', { context }, optionsOf({ context: anyObject }));
  const info = 'authInfo' in context ? context.authInfo : 'http' in context ? context.http?.authInfo : undefined;
  return requestClaims(info ?? context);
}

/** What a tool of SDK 1 gets beside its arguments. */
interface ToolExtra {
  readonly authInfo?: object | undefined;
}

function authInfo(claims: TaskTokenClaims, token: string, resourceMetadataUrl: string): AuthInfo {
  const { aud, exp, scope, act, sub } = claims;
  const clientId = claims.clientId ?? act?.sub ?? sub;
  const info = { token, clientId, scopes: [...scope], expiresAt: exp, resource: new URL(aud), resourceMetadataUrl };
  // `token` is not enumerable, so that a log of the object does not show the token.
  return Object.defineProperty(info, 'token', { enumerable: false });
}
