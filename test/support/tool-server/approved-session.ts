/** A session of an MCP server behind the guard, of which a person approves calls of `pay`. The test plays the server. */

import type { RequestListener, ServerResponse } from 'node:http';
import { eventually } from '../eventually.ts';
import { type RawConnection, rawConnection } from '../raw-http.ts';
import { type FakeApprovals, fakeApprovals } from './approvals.ts';
import { call, initialize } from './guarded-messages.ts';
import { proxyForEachTest } from './proxied-upstream.ts';

export const SESSION = 'Mcp-Session-Id';
const tools = {
  pay: { scope: ['jira:read'], approval: { title: 'Pay', lines: [{ label: 'Amount', path: ['amount'] }] } },
  balance: { scope: ['jira:read'] },
};

export function approvedSessionForEachTest() {
  const proxy = proxyForEachTest();
  const { bearer, decided, errors } = proxy;
  let approvals: FakeApprovals;
  const closing: (() => unknown)[] = [];
  /** What the server got. */
  const got: { readonly session: unknown; readonly message: Readonly<Record<string, unknown>> }[] = [];
  /** The answer that a call of `pay` waits with. */
  const paying: ServerResponse[] = [];
  const streams: ServerResponse[] = [];

  beforeEach(async () => {
    for (const list of [got, paying, streams]) list.length = 0;
    approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** Keeps the streams of GET, and the answers of calls, open. */
  const server: RequestListener = async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': open\n\n');
      streams.push(response);
      return;
    }
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const message = JSON.parse(text);
    got.push({ session: request.headers['mcp-session-id'], message });
    if (message.method === 'initialize') {
      response.writeHead(200, { 'Content-Type': 'application/json', [SESSION]: `s${got.length}` });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }));
    } else if (message.method === 'tools/call') paying.push(response);
    else response.writeHead(202).end();
  };
  const start = (listener: RequestListener | string = server) =>
    proxy.start(listener, {
      routes: [],
      mcp: { path: '/mcp', tools, methods: {} },
      approvalKey: { jwk: { ...approvals.key.privateJwk } },
    });

  const headersOf = (session?: string) => ({
    ...Object.fromEntries([bearer()]),
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(session !== undefined && { [SESSION]: session }),
  });
  async function post(url: string, message: object, session?: string) {
    const body = JSON.stringify(message);
    const answer = await fetch(`${url}/mcp`, { method: 'POST', headers: headersOf(session), body });
    return { status: answer.status, session: answer.headers.get(SESSION) ?? '', text: await answer.text() };
  }
  async function begin(url: string): Promise<string> {
    return (await post(url, initialize)).session;
  }
  async function stream(url: string, method: string, session: string | undefined, body = ''): Promise<RawConnection> {
    const client = await rawConnection(url);
    closing.push(() => client.leave());
    const lines = Object.entries(headersOf(session)).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = method === 'POST' ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
    client.send(`${method} /mcp HTTP/1.1\r\nHost: x\r\n${lines.join('')}${length}\r\n${body}`);
    return client;
  }
  const PAY = { ...call('pay', { arguments: { amount: 5 } }), id: 7 };
  /** Asks, says yes, and calls again. @returns the client that waits for the answer */
  async function pay(url: string, session?: string): Promise<RawConnection> {
    await post(url, PAY, session);
    approve();
    const before = paying.length;
    const client = await stream(url, 'POST', session, JSON.stringify(PAY));
    await eventually(() => paying.length > before);
    return client;
  }
  const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;
  const events = (response: ServerResponse | undefined) =>
    response?.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const responses = () => got.map(({ message }) => message).filter((message) => !('method' in message));
  const DONE = { jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'paid' }] } };
  /** Of the person, to the last question. */
  const approve = () => approvals.approve(approvals.asked.at(-1)?.claims.digest ?? '');
  return {
    decided,
    errors,
    got,
    paying,
    streams,
    closing,
    server,
    DONE,
    PAY,
    start,
    post,
    begin,
    stream,
    pay,
    approve,
    event,
    events,
    responses,
  };
}
