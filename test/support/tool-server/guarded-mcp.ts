/** A real MCP server (TypeScript SDK 2, streamable HTTP, on Express), which the tool-server library guards. */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express, { type Request, type Response } from 'express';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  claimsOf,
  type McpProtectionOptions,
  type McpToolPolicy,
  mcpProtection,
} from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../listening.ts';
import type { GuardedApp, POLICIES } from './guarded-apps.ts';

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
  { parsed = true, sessions = false, port = 0, ...options }: GuardedMcpOptions = {},
): Promise<GuardedMcp> {
  const called: string[] = [];
  const app = parsed ? createMcpExpressApp() : express();
  const protection = mcpProtection(toolServer, { tools: TOOL_POLICIES, ...options });
  app.use(protection.metadata);
  const answer = sessions ? inSessions(called) : toNodeHandler(createMcpHandler(() => jiraServer(called)));
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

/** Each tool answers with the claims that it received. */
function jiraServer(called: string[]): McpServer {
  const server = new McpServer({ name: 'jira', version: '1.2.3' });
  for (const name of [...Object.keys(TOOL_POLICIES), FORGOTTEN]) {
    server.registerTool(name, { description: `What ${name} does` }, (context) => {
      called.push(name);
      const { sub, act, scope, task } = claimsOf(context);
      const text = JSON.stringify({ sub, agent: act?.sub ?? null, scope, task: task?.id ?? null });
      return { content: [{ type: 'text', text }] };
    });
  }
  server.registerResource('board', 'jira://boards/1', {}, (uri) => {
    called.push('resources/read');
    return { contents: [{ uri: uri.href, text: 'A board.' }] };
  });
  return server;
}

/** Finds the session by the id that the client presents, as the documentation of the SDK does. */
function inSessions(called: string[]) {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (request: Request, response: Response, body: unknown): Promise<void> => {
    const presented = request.get('mcp-session-id');
    let transport = presented === undefined ? undefined : transports.get(presented);
    if (transport === undefined) {
      const made = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void transports.set(id, made),
      });
      await jiraServer(called).connect(made);
      transport = made;
    }
    await transport.handleRequest(request, response, body);
  };
}
