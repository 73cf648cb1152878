/** A server of the MCP TypeScript SDK 1 behind the guard, as docs/tool-servers.md shows it. The compiler checks `claimsOf` too. */

import { createServer, type Server } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect } from 'chai';
import express from 'express';
import { z } from 'zod';
import { claimsOf, mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';

const NOW = 1_900_000_000;

function makeServer(): McpServer {
  const server = new McpServer({ name: 'jira', version: '1.2.3' });
  server.registerTool('read_issue', { inputSchema: { key: z.string() } }, ({ key }, extra) => {
    const { sub, act } = claimsOf(extra);
    return { content: [{ type: 'text', text: `${key} for ${sub} by ${act?.sub}` }] };
  });
  return server;
}

describe('A server of the MCP SDK 1', () => {
  const fixture = planeForEachTest(() => NOW);
  let server: Server;
  let url: string;

  beforeEach(async () => {
    const toolServer = fixture.toolServer({ now: () => NOW * 1000 });
    const { guard, metadata } = mcpProtection(toolServer, { tools: { read_issue: { scope: ['jira:read'] } } });
    const app = express();
    app.use(metadata);
    app.all('/mcp', guard, async (request, response) => {
      const transport = new StreamableHTTPServerTransport();
      await makeServer().connect(transport);
      await transport.handleRequest(request, response, request.body);
    });
    server = createServer(app);
    url = `http://127.0.0.1:${await listen(server)}/mcp`;
  });
  afterEach(() => closeServer(server));

  const call = async (name: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${fixture.plane.token()}`,
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name, arguments: { key: 'OPS-7' } },
      }),
    });
    return [response.status, await response.text()] as const;
  };

  it('gets the claims of the person and the agent in its tools, and no call of a tool without a policy', async () => {
    const [status, text] = await call('read_issue');
    expect(text).to.include('OPS-7 for ada by agent:triage');
    expect(status).to.equal(200);
    const [refused, why] = await call('delete_issue');
    expect([refused, JSON.parse(why).reason]).to.deep.equal([403, 'unknown_tool']);
    expect(fixture.events.map(({ reason }) => reason)).to.deep.equal([null, 'unknown_tool']);
  });

  it('has no claims outside of a guarded request', () => {
    expect(() => claimsOf({ authInfo: undefined })).to.throw(Error);
    expect(() => claimsOf({})).to.throw(Error);
  });
});
