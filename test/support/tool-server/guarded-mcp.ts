/**
 * A real MCP server (TypeScript SDK 2, streamable HTTP, on Express), which the tool-server library guards: as a middleware,
 * or in the proxy in front of it.
 */

import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import express, { type Request, type Response } from 'express';
import type { RoutePolicy } from '../../../adapters/sdk/tool-server/core/policy.ts';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  claimsOf,
  type McpProtectionOptions,
  type McpToolPolicy,
  mcpProtection,
} from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../listening.ts';
import { type GuardedApp, type POLICIES, presented, presentedHeaders } from './guarded-apps.ts';
import { inSessions } from './mcp-sessions.ts';
import { proxyConfiguration } from './proxied-upstream.ts';
import { serveGuard } from './served-guard.ts';

/** For each route of the web frameworks, the MCP tool with the same policy. */
export const TOOLS: Readonly<Record<keyof typeof POLICIES, string>> = {
  'GET /issues/:key': 'read_issue',
  'POST /issues/:key/comments': 'comment',
  'DELETE /issues/:key': 'delete_issue',
  'GET /boards/:board': 'read_board',
  'GET /sprints/:sprint': 'read_sprint',
};
export const FORGOTTEN = 'forgotten_tool';
/** The policy of this tool refuses all arguments. */
export const PICKY = 'picky_tool';
/** The policy of this tool throws. */
export const FAULTY = 'faulty_tool';

const TOOL_POLICIES: Readonly<Record<string, McpToolPolicy>> = {
  read_issue: { scope: ['jira:read'] },
  comment: { scope: ['jira:read', 'jira:comment'] },
  delete_issue: { scope: ['jira:read'], highRisk: true },
  read_board: { scope: ['jira:read'], requireActor: false },
  read_sprint: { scope: ['jira:read'], maxDelegationDepth: 3 },
  [PICKY]: { scope: ['jira:read'], authorize: () => false },
  [FAULTY]: { scope: ['jira:read'], authorize: () => Promise.reject(new Error('The rules are unreadable.')) },
};

export interface GuardedMcpOptions extends Partial<McpProtectionOptions> {
  /** Whether the body parser of the SDK runs before the guard. Otherwise the guard reads the body. */
  readonly parsed?: boolean;
  /** Whether the server keeps sessions, as in protocol revisions before 2026-07-28. */
  readonly sessions?: boolean;
  /** Whether the proxy of the guard is in front of the server, in place of the middleware. */
  readonly proxied?: boolean;
  /** By default a free port. */
  readonly port?: number;
}

export interface GuardedMcp extends GuardedApp {
  /** The URL of the MCP endpoint. */
  readonly endpoint: string;
  readonly metadataUrl: string;
  /** The names of the tools that have run. */
  readonly called: string[];
}

export async function startGuardedMcp(
  toolServer: ToolServer,
  { parsed = true, sessions = false, proxied = false, port = 0, ...options }: GuardedMcpOptions = {},
): Promise<GuardedMcp> {
  if (proxied) return startProxiedMcp(toolServer, sessions, port, options);
  const called: string[] = [];
  const app = parsed ? createMcpExpressApp() : express();
  const protection = mcpProtection(toolServer, { tools: TOOL_POLICIES, ...options });
  app.use(protection.metadata);
  const make = () => jiraServer(called, (context) => presented(claimsOf(context)));
  const answer = sessions ? inSessions(make) : toNodeHandler(protection.allowedLists(createMcpHandler(make)));
  app.all('/mcp', protection.guard, (request: Request, response: Response) => {
    void answer(request, response, request.body);
  });
  const server = createServer(app);
  const url = `http://127.0.0.1:${await listen(server, port)}`;
  return {
    url,
    called,
    endpoint: `${url}/mcp`,
    metadataUrl: protection.metadataUrl,
    stop: () => closeServer(server),
  };
}

/** The policies that a file can have: no function. */
function ofFile(tools: Readonly<Record<string, McpToolPolicy>>): Readonly<Record<string, RoutePolicy>> {
  return Object.fromEntries(
    Object.entries(tools).flatMap(([name, { authorize, approval: _, ...policy }]) =>
      authorize === undefined ? [[name, policy]] : [],
    ),
  );
}

/** The server knows nothing of Mandate but the headers of the proxy. */
async function startProxiedMcp(
  toolServer: ToolServer,
  sessions: boolean,
  port: number,
  { tools = TOOL_POLICIES, methods = {}, list = 'all' }: GuardedMcpOptions,
): Promise<GuardedMcp> {
  const called: string[] = [];
  const make = () => jiraServer(called, ({ http }) => http?.authInfo?.extra?.presented);
  const answer = sessions ? inSessions(make) : toNodeHandler(createMcpHandler(make));
  const app = express();
  app.all('/mcp', (request: Request, response: Response) => {
    void answer(Object.assign(request, { auth: authOf(request.headers) }), response, undefined);
  });
  const server = createServer(app);
  const upstream = `http://127.0.0.1:${await listen(server)}`;
  const mcp = { path: '/mcp', tools: ofFile(tools), methods, list };
  const listening = { host: '127.0.0.1', port };
  const configuration = proxyConfiguration(toolServer.issuer, upstream, { routes: [], mcp, listen: listening });
  const guard = await serveGuard(toolServer, configuration);
  return {
    url: guard.url,
    called,
    endpoint: `${guard.url}/mcp`,
    metadataUrl: `${guard.url}/.well-known/oauth-protected-resource/api`,
    async stop() {
      await guard.stop();
      await closeServer(server);
    },
  };
}

function authOf(headers: IncomingHttpHeaders) {
  return { token: '', clientId: '', scopes: [], extra: { presented: presentedHeaders(headers) } };
}

/** Each tool answers with the claims that it received. */
function jiraServer(called: string[], claimsIn: (context: ServerContext) => unknown): McpServer {
  const server = new McpServer({ name: 'jira', version: '1.2.3' });
  for (const name of [...Object.keys(TOOL_POLICIES), FORGOTTEN]) {
    server.registerTool(name, { description: `What ${name} does` }, (context) => {
      called.push(name);
      const text = JSON.stringify(claimsIn(context));
      return { content: [{ type: 'text', text }] };
    });
  }
  server.registerResource('board', 'jira://boards/1', {}, (uri) => {
    called.push('resources/read');
    return { contents: [{ uri: uri.href, text: 'A board.' }] };
  });
  return server;
}
