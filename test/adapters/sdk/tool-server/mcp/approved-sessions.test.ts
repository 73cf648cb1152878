/** While a call that a person approved runs, the server of the library’s adapter gets no response of the client. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import express, { type Request, type Response } from 'express';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { eventually } from '../../../../support/eventually.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { call, initialize } from '../../../../support/tool-server/guarded-messages.ts';

const PAY = { ...call('pay', { arguments: { amount: 5 } }), id: 7 };
const accepted = (id: string) => ({
  jsonrpc: '2.0',
  id,
  result: { action: 'accept', content: { account: 'MALLORY' } },
});

describe('A session of the adapter, while a call that a person approved runs', () => {
  const fixture = planeForEachTest();
  let approvals: FakeApprovals;
  let server: Server;
  let url: string;
  let bodies: unknown[];
  let paying: ServerResponse[];

  beforeEach(async () => {
    [bodies, paying] = [[], []];
    approvals = await fakeApprovals(fixture.plane, () => Math.floor(Date.now() / 1000));
    const toolServer = fixture.toolServer({ approvalKey: { jwk: { ...approvals.key.privateJwk } } });
    const approval = () => ({ title: 'Pay' });
    const { guard } = mcpProtection(toolServer, { tools: { pay: { scope: ['jira:read'], approval } } });
    const app = express();
    let sessions = 0;
    app.all('/mcp', guard, (request: Request, response: Response) => {
      bodies.push(request.body);
      if (request.body.method === 'tools/call') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': open\n\n');
        paying.push(response);
      } else {
        sessions += 1;
        response.setHeader('Mcp-Session-Id', `s${sessions}`).json({ jsonrpc: '2.0', id: 7, result: {} });
      }
    });
    server = createServer(app);
    url = `http://127.0.0.1:${await listen(server)}/mcp`;
  });
  afterEach(() => closeServer(server));

  const send = (message: object, session?: string, signal?: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${fixture.plane.token()}`,
        'Content-Type': 'application/json',
        ...(session !== undefined && { 'Mcp-Session-Id': session }),
      },
      body: JSON.stringify(message),
      ...(signal && { signal }),
    });
  const begin = async () => (await send(initialize)).headers.get('mcp-session-id') ?? '';
  async function pay(session: string, signal?: AbortSignal): Promise<globalThis.Response> {
    await (await send(PAY, session)).text();
    approvals.approve(approvals.asked.at(-1)?.claims.digest ?? '');
    return send(PAY, session, signal);
  }
  const last = () => bodies.at(-1) as { id?: unknown; error?: { code: number }; result?: unknown };

  it('gives the server an error in place of a response, and the response itself before and after', async () => {
    const [session, another] = [await begin(), await begin()];
    await send(accepted('e0'), session);
    expect(last()).to.deep.equal(accepted('e0'));
    const answer = await pay(session);
    expect((await send(accepted('e1'), session)).status).to.equal(200);
    expect([last().id, last().error?.code, last().result]).to.deep.equal(['e1', -32601, undefined]);
    await send(accepted('e2'), another);
    expect(last()).to.deep.equal(accepted('e2'));
    paying[0]?.end('data: {}\n\n');
    await answer.text();
    await send(accepted('e3'), session);
    expect(last()).to.deep.equal(accepted('e3'));
    expect(
      fixture.events.filter(({ route }) => route === 'MCP response').map(({ decision }) => decision),
    ).to.deep.equal(Array(4).fill('allow'));
  });

  it('goes on with that when the client of the call has left', async () => {
    const session = await begin();
    const leaving = new AbortController();
    await pay(session, leaving.signal);
    leaving.abort();
    await eventually(() => paying[0]?.closed === true);
    await send(accepted('e1'), session);
    expect([last().id, last().error?.code]).to.deep.equal(['e1', -32601]);
  });
});
