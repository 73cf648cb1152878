/** The clients of both SDKs in front of servers of both SDKs, whose lists the library cuts. */

import { createServer } from 'node:http';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpHandler, McpServer as Server2 } from '@modelcontextprotocol/server';
import { expect } from 'chai';
import express from 'express';
import { type McpHandler, mcpProtection } from '../../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../../../../../support/listening.ts';
import { planeForEachTest } from '../../../../../support/tool-server/control-plane.ts';

const NOW = 1_900_000_000;
const INFO = { name: 'jira', version: '1.0.0' };
const NAMES = ['read_issue', 'delete_issue', 'forgotten_tool'];
const answer = () => ({ content: [{ type: 'text' as const, text: 'Done.' }] });

function server2(): Server2 {
  const server = new Server2(INFO, { cacheHints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: 'public' } } });
  for (const name of NAMES) server.registerTool(name, {}, answer);
  return server;
}

/** A server of SDK 1, with a transport for each request. */
const server1: McpHandler = {
  async fetch(request, options) {
    const server = new Server1(INFO);
    for (const name of NAMES) server.registerTool(name, {}, answer);
    const transport = new WebStandardStreamableHTTPServerTransport();
    // The types of SDK 1 do not support exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<Server1['connect']>[0]);
    return transport.handleRequest(request, options as Parameters<typeof transport.handleRequest>[1]);
  },
};

interface Connected {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  close(): Promise<void>;
}

const clients: readonly (readonly [
  name: string,
  connect: (url: URL, headers: Record<string, string>) => Promise<Connected>,
])[] = [
  [
    'SDK 1',
    async (url, headers) => {
      const client = new Client1(INFO);
      await client.connect(new Transport1(url, { requestInit: { headers } }) as Parameters<Client1['connect']>[0]);
      return client;
    },
  ],
  ...(['auto', 'legacy'] as const).map(
    (mode) =>
      [
        `SDK 2 (${mode})`,
        async (url: URL, headers: Record<string, string>) => {
          const client = new Client2(INFO, { versionNegotiation: { mode } });
          await client.connect(new Transport2(url, { requestInit: { headers } }));
          return client;
        },
      ] as const,
  ),
];

describe('A list that the library cuts', () => {
  const fixture = planeForEachTest(() => NOW);

  for (const [made, handler] of [
    ['SDK 2', createMcpHandler(server2)],
    ['SDK 1', server1],
  ] as const) {
    for (const [name, connect] of clients) {
      it(`of a server of ${made} has, for the client of ${name}, the tools that its token may call`, async () => {
        const toolServer = fixture.toolServer({ now: () => NOW * 1000 });
        const { guard, allowedLists } = mcpProtection(toolServer, {
          tools: { read_issue: { scope: ['jira:read'] }, delete_issue: { scope: ['jira:admin'] } },
          list: 'allowed',
        });
        const mcp = toNodeHandler(allowedLists(handler));
        const app = express();
        app.all('/mcp', guard, (request, response) => void mcp(request, response, request.body));
        const server = createServer(app);
        const url = new URL(`http://127.0.0.1:${await listen(server)}/mcp`);
        try {
          const listed: unknown[] = [];
          for (const scope of ['jira:read', 'jira:read jira:admin']) {
            const client = await connect(url, { authorization: `Bearer ${fixture.plane.token({ scope })}` });
            const result = await client.listTools();
            listed.push(result.tools.map((tool) => tool.name));
            const { ttlMs = 60_000, cacheScope = 'private' } = { ...result } as { ttlMs?: number; cacheScope?: string };
            expect([ttlMs, cacheScope]).to.deep.equal([60_000, 'private']);
            await client.close();
          }
          expect(listed).to.deep.equal([['read_issue'], ['read_issue', 'delete_issue']]);
        } finally {
          await closeServer(server);
        }
      });
    }
  }
});
