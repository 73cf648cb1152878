/** A tool server that speaks MCP: two tools, built with the MCP TypeScript SDK. */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, mcpProtection } from '@mandate/tool-server/mcp';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { freePort } from '../free-port.ts';
import type { AccessLog } from './access-log.ts';
import { type GuardedServer, serve } from './guarded-server.ts';

export async function startJiraMcp(issuer: string, log: AccessLog): Promise<GuardedServer> {
  const audience = `http://127.0.0.1:${await freePort()}/mcp`;
  const toolServer = createToolServer({ issuer, audience, clockSkewSeconds: 0, onAccess: log.record });
  const { guard, metadata } = mcpProtection(toolServer, {
    tools: {
      read_issue: { scope: ['jira:read'] },
      comment_issue: { scope: ['jira:comment'], highRisk: true },
    },
  });

  const app = createMcpExpressApp();
  const mcp = toNodeHandler(createMcpHandler(jira));
  app.use(metadata);
  app.all('/mcp', guard, (request, response) => void mcp(request, response, request.body));
  return serve(app, audience);
}

function jira(): McpServer {
  const server = new McpServer({ name: 'jira', version: '1.0.0' });
  const inputSchema = z.object({ key: z.string() });
  server.registerTool('read_issue', { inputSchema }, ({ key }, context) => {
    const { sub, act } = claimsOf(context);
    return { content: [{ type: 'text', text: `${key}, read for ${sub} by ${act?.sub}` }] };
  });
  server.registerTool('comment_issue', { inputSchema }, ({ key }, context) => ({
    content: [{ type: 'text', text: `${key}, written for ${claimsOf(context).sub}` }],
  }));
  return server;
}
