/** The end of a call that a person approved is what its client takes for it. Until then the server asks the client nothing. */

import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import { approvedSessionForEachTest, SESSION } from '../../../../support/tool-server/approved-session.ts';
import { call } from '../../../../support/tool-server/guarded-messages.ts';

describe('A call that a person approved', () => {
  const { paying, streams, server, DONE, ...on } = approvedSessionForEachTest();
  const { start, post, begin, stream, pay, event, events, responses } = on;

  const ASK = event({ jsonrpc: '2.0', id: 'e1', method: 'elicitation/create', params: {} });
  const written = (text: string) => (answer: ServerResponse) => events(answer)?.write(text);
  for (const [what, write] of [
    ['202', (answer: ServerResponse) => answer.writeHead(202).end()],
    ['a message without a result', written(event({ jsonrpc: '2.0', id: 7 }))],
    ['a message of another version', written(event({ ...DONE, jsonrpc: '1.0' }))],
    ['a message with another member', written(event({ ...DONE, done: true }))],
    ['a result that is a list', written(event({ ...DONE, result: [] }))],
    ['an error without a code', written(event({ jsonrpc: '2.0', id: 7, error: { message: 'x' } }))],
    ['an event of another name', written(`event: other\n${event(DONE)}`)],
  ] as const) {
    it(`goes on after ${what}, which clients do not accept as its answer`, async () => {
      const url = await start();
      const session = await begin(url);
      const own = await stream(url, 'GET', session);
      await own.until(': open');
      await pay(url, session);
      const [answer] = paying;
      if (answer !== undefined) write(answer);
      // What the server writes later arrives later.
      if (answer?.writableEnded) await eventually(() => answer.closed);
      else answer?.write(ASK);
      streams[0]?.write(`${ASK}: later\n\n`);
      expect(await own.until(': later')).not.to.include('elicitation');
      await post(url, { jsonrpc: '2.0', id: 'e1', result: {} }, session);
      expect(responses().filter((message) => !('error' in message))).to.deep.equal([]);
    });
  }

  it('lets no request of the server pass in an answer of any type, begun before it or in it', async () => {
    const url = await start((request, response) => {
      if (request.method !== 'GET') return void server(request, response);
      response.writeHead(200, { 'Content-Type': 'application/json' }).write(': open\n\n');
      streams.push(response);
    });
    const session = await begin(url);
    const own = await stream(url, 'GET', session);
    await own.until(': open');
    const balance = await stream(url, 'POST', session, JSON.stringify({ ...call('balance'), id: 3 }));
    await eventually(() => paying.length === 1);
    const ask = JSON.stringify({ jsonrpc: '2.0', id: 'e2', method: 'roots/list', padding: ' '.repeat(100_000) });
    paying[0]?.writeHead(200, { 'Content-Type': 'application/json' }).write(ask.slice(0, -5));
    // An event that is longer than most, and not whole.
    streams[0]?.write(`data: ${ask.slice(0, -5)}`);
    const client = await pay(url, session);
    paying[0]?.end(ask.slice(-5));
    streams[0]?.write(`${ask.slice(-5)}\n\n${ASK}: later\n\n`);
    paying[1]?.writeHead(200, { 'Content-Type': 'application/octet-stream' }).write(`${ASK}: later\n\n`);
    for (const each of [own, client]) expect(await each.until(': later')).not.to.match(/elicitation|roots/);
    expect(await balance.until('never')).not.to.include('roots');
    await eventually(() => responses().length === 4);
  });

  it('stays in its session: no answer but that to initialize names another one', async () => {
    const url = await start();
    const session = await begin(url);
    for (const of of [session, undefined]) {
      await pay(url, of);
      const moved = paying.at(-1)?.writeHead(200, { 'Content-Type': 'text/event-stream', [SESSION]: 's9' });
      moved?.write(`${ASK}: later\n\n`);
    }
    const another = await pay(url, session);
    events(paying.at(-1)?.setHeader(SESSION, 's9'))?.write(`${ASK}: later\n\n`);
    const text = await another.until(': later');
    expect(text).not.to.match(/mcp-session-id|elicitation/i);
    await eventually(() => responses().length === 3);
    // A server may repeat the session of the request.
    const same = await pay(url, session);
    events(paying.at(-1)?.setHeader(SESSION, 's1'))?.write(': later\n\n');
    expect(await same.until(': later')).to.include(session);
  });
});
