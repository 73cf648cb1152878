/** A tool server that speaks MCP: one ordinary tool, one high-risk tool where a revocation takes effect at once. */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, mcpProtection } from '@mandate/tool-server/mcp';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const { MANDATE_ISSUER = '', AUDIENCE = '', PORT = '0' } = process.env;

const toolServer = createToolServer({ issuer: MANDATE_ISSUER, audience: AUDIENCE });
const { guard, metadata } = mcpProtection(toolServer, {
  tools: {
    read_issue: { scope: ['jira:read'] },
    delete_issue: { scope: ['jira:admin'], highRisk: true },
  },
});

function jira(): McpServer {
  const server = new McpServer({ name: 'jira', version: '1.0.0' });
  const inputSchema = z.object({ key: z.string() });
  server.registerTool('read_issue', { inputSchema }, ({ key }, context) => {
    const { sub, act } = claimsOf(context);
    return { content: [{ type: 'text', text: `${key}, read for ${sub} by ${act?.sub}` }] };
  });
  server.registerTool('delete_issue', { inputSchema }, ({ key }, context) => ({
    content: [{ type: 'text', text: `${key}, deleted for ${claimsOf(context).sub}` }],
  }));
  return server;
}

const app = createMcpExpressApp();
const mcp = toNodeHandler(createMcpHandler(jira));
app.use(metadata);
app.all('/mcp', guard, (request, response) => void mcp(request, response, request.body));

const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
