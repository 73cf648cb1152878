/**
 * A real MCP server with the tools `pay`, whose calls a person has to approve, and `balance`; and the official clients of both
 * SDKs.
 */

import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport, UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { UrlElicitationRequiredError as UrlElicitationRequiredError1 } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { z } from 'zod';
import type { McpAuthorization } from '../../../adapters/sdk/agent/mcp/mcp.ts';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { type McpProtection, type McpToolPolicy, mcpProtection } from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../listening.ts';
import { inSessions } from './mcp-sessions.ts';

export interface PayingMcp {
  readonly endpoint: string;
  /** The arguments of each call that has run, and what else of the call the tool saw. */
  readonly paid: { readonly args: unknown; readonly input: unknown }[];
  stop(): Promise<void>;
}

export const PAY: McpToolPolicy = {
  scope: ['jira:read'],
  approval: ({ arguments: { to, amount } }) => ({
    title: `Pay ${amount} to ${to}`,
    lines: [{ label: 'Recipient', value: `${to}` }],
  }),
};

export interface PayingMcpOptions {
  readonly policy?: McpToolPolicy;
  /** The scope that the tool `balance` needs. */
  readonly balance?: string;
  readonly list?: 'all' | 'allowed';
  readonly parsed?: boolean;
  readonly port?: number;
}

export async function startPayingMcp(
  toolServer: ToolServer,
  { policy = PAY, balance = 'jira:read', list = 'all', parsed = false, port = 0 }: PayingMcpOptions = {},
): Promise<PayingMcp> {
  const protection = mcpProtection(toolServer, { tools: { pay: policy, balance: { scope: [balance] } }, list });
  return startBank([...(parsed ? [express.json()] : []), protection.metadata], protection, port);
}

/** The same server, which knows nothing of Mandate. */
export function startUnguardedBank(): Promise<PayingMcp> {
  return startBank([], { guard: (_, __, next) => next(), allowedLists: (handler) => handler }, 0);
}

async function startBank(
  first: readonly RequestHandler[],
  { guard, allowedLists }: Pick<McpProtection, 'guard' | 'allowedLists'>,
  port: number,
): Promise<PayingMcp> {
  const paid: PayingMcp['paid'] = [];
  const app = express();
  for (const each of first) app.use(each);
  const sessions = inSessions(() => payingServer(paid));
  const answer = toNodeHandler(allowedLists(createMcpHandler(() => payingServer(paid))));
  app.all('/mcp', guard, (request: Request, response: Response) => void answer(request, response, request.body));
  app.all(
    ['/sessions', '/mcp/sessions'],
    guard,
    (request: Request, response: Response) => void sessions(request, response, request.body),
  );
  const server = createServer(app);
  const url = `http://127.0.0.1:${await listen(server, port)}`;
  return { endpoint: `${url}/mcp`, paid, stop: () => closeServer(server) };
}

function payingServer(paid: PayingMcp['paid']): McpServer {
  const server = new McpServer({ name: 'bank', version: '1.2.3' });
  const inputSchema = z.object({ to: z.string(), amount: z.number(), note: z.string().optional() });
  server.registerTool('pay', { description: 'Pays an amount', inputSchema }, (args, { mcpReq }) => {
    paid.push({ args, input: mcpReq.inputResponses });
    return { content: [{ type: 'text', text: `Paid ${args.amount} to ${args.to}` }] };
  });
  server.registerTool('balance', {}, () => ({ content: [{ type: 'text', text: '100' }] }));
  return server;
}

export interface Paying {
  /** The names of the list. */
  tools(): Promise<readonly string[]>;
  /** @param name by default `pay` */
  call(args: Readonly<Record<string, unknown>>, name?: string): Promise<Shown>;
  close(): Promise<void>;
}

type Result = Readonly<Record<string, unknown>>;
export interface Shown {
  readonly text: string;
  readonly isError: boolean;
}

/** What a program shows of a tool's result. */
export const shown = ({ content, isError }: Result): Shown => ({
  text: (content as readonly { readonly text?: string }[]).map(({ text }) => text ?? '').join(''),
  isError: isError === true,
});

/** The token of each request, or the provider with which the client gets its own token. */
export type Authorization = (() => Promise<string>) | McpAuthorization;

/** Opens the page for the person, as a client does that declares URL elicitation. Returns the action. */
export type OpenPage = (url: string) => Promise<'accept' | 'decline'>;

/** In revision 2025-11-25 the program opens the pages that the error names, and then repeats the call. */
async function opening(send: () => Promise<Result>, open: OpenPage | undefined) {
  try {
    return shown(await send());
  } catch (error) {
    const isAsked = error instanceof UrlElicitationRequiredError || error instanceof UrlElicitationRequiredError1;
    if (!isAsked || open === undefined) throw error;
    for (const { url } of error.elicitations) await open(url);
    return shown(await send());
  }
}

export async function client2(
  endpoint: string,
  authorization: Authorization,
  open?: OpenPage,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Paying> {
  const capabilities = open ? { elicitation: { url: {} } } : {};
  const client = new Client({ name: 'payer', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
  if (open !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await open('url' in params ? params.url : ''),
    }));
  }
  const options =
    typeof authorization === 'function'
      ? { authProvider: { token: authorization } }
      : { authProvider: authorization, fetch: authorization.fetch };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), options));
  const call = async (args: Result, name = 'pay') => opening(() => client.callTool({ name, arguments: args }), open);
  const tools = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { tools, call, close: () => client.close() };
}

export async function client1(endpoint: string, authorization: Authorization, open?: OpenPage): Promise<Paying> {
  const capabilities = open ? { elicitation: { url: {} } } : {};
  const client = new Client1({ name: 'payer', version: '1.0.0' }, { capabilities });
  const authorizedWith =
    (token: () => Promise<string>): typeof fetch =>
    async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${await token()}`);
      return fetch(input, { ...init, headers });
    };
  // The types of the two SDKs differ in members that are optional here, and those of SDK 1 do not support
  // exactOptionalPropertyTypes.
  const options =
    typeof authorization === 'function'
      ? { fetch: authorizedWith(authorization) }
      : { authProvider: authorization, fetch: authorization.fetch };
  const transport = new Transport1(new URL(endpoint), options as ConstructorParameters<typeof Transport1>[1]);
  await client.connect(transport as unknown as Parameters<Client1['connect']>[0]);
  const call = async (args: Result, name = 'pay') => opening(() => client.callTool({ name, arguments: args }), open);
  const tools = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { tools, call, close: () => client.close() };
}
