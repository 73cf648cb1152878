/** An MCP server behind the guard, and the requests that tests send to it. */

import http from 'node:http';
import type { ToolServer, ToolServerOptions } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { type McpProtectionOptions, mcpProtection } from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { planeForEachTest } from './control-plane.ts';
import { type GuardedMcp, type GuardedMcpOptions, startGuardedMcp } from './guarded-mcp.ts';

export const NOW = 1_900_000_000;

export interface Sent {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown;
}

export const rpc = (method: string, params: object = {}, id: unknown = 7) => ({ jsonrpc: '2.0', id, method, params });
export const notification = (method: string, params?: object) => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
});
export const call = (name: unknown, rest: object = {}) => rpc('tools/call', { name, ...rest });
export const read = call('read_issue', { arguments: {} });
export const initialize = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});
export const bob = { sub: 'bob', task: { id: 'task_2', exp: NOW + 1200, sponsor: 'bob' } };

/** A request with a parsed body, for a test that calls the guard without a server. */
export function incomingWith(body: object, token: string) {
  return Object.assign(new http.IncomingMessage(null as never), {
    method: 'POST',
    body,
    rawHeaders: ['Authorization', `Bearer ${token}`],
  });
}

/** What is in front of the MCP server. */
export const FRONTS = [
  ['behind a body parser', { parsed: true }],
  ['without a body parser', { parsed: false }],
  ['behind the proxy of the guard', { proxied: true }],
] as const satisfies readonly (readonly [string, GuardedMcpOptions])[];

interface Guarded {
  readonly app: GuardedMcp;
  readonly toolServer: ToolServer;
}

/** A test starts the server that it needs. */
export function guardedForEachTest() {
  const guarded = {} as { -readonly [Name in keyof Guarded]: Guarded[Name] };
  const fixture = planeForEachTest(() => NOW);
  const { events } = fixture;

  afterEach(() => guarded.app.stop());

  async function start(options: GuardedMcpOptions = {}, server: Partial<ToolServerOptions> = {}): Promise<void> {
    guarded.toolServer = fixture.toolServer({ now: () => NOW * 1000, ...server });
    guarded.app = await startGuardedMcp(guarded.toolServer, options);
  }
  const tokenWith = (claims?: Sent['claims']) => fixture.plane.token(claims);
  const guardOf = (options: Partial<McpProtectionOptions> = {}) =>
    mcpProtection(guarded.toolServer, { tools: { read_issue: { scope: ['jira:read'] } }, ...options }).guard;

  async function send({ claims, token = tokenWith(claims), headers, method = 'POST', body }: Sent) {
    const response = await fetch(guarded.app.endpoint, {
      method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  const statusOf = async (sent: Sent) => (await send(sent)).status;
  const reasonOf = async (sent: Sent) => JSON.parse((await send(sent)).text).reason;
  const decided = () => events.map(({ route, decision, reason, sub }) => [route, decision, reason, sub]);

  return Object.assign(guarded, { fixture, events, start, tokenWith, guardOf, send, statusOf, reasonOf, decided });
}

/** An actor chain, outermost agent first. */
export function chain(agent: string, ...inner: readonly string[]): object {
  const [next, ...rest] = inner;
  return { sub: `agent:${agent}`, depth: inner.length + 1, ...(next !== undefined && { act: chain(next, ...rest) }) };
}
