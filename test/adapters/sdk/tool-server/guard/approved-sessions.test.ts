/** A call that a person approved runs as it was read: meanwhile the server asks the client nothing, in any form. */

import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { McpServer } from '@modelcontextprotocol/server';
import { expect } from 'chai';
import express, { type Request, type Response } from 'express';
import { z } from 'zod';
import { eventually } from '../../../../support/eventually.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { approvedSessionForEachTest } from '../../../../support/tool-server/approved-session.ts';
import { call, initialize, notification } from '../../../../support/tool-server/guarded-messages.ts';
import { inSessions } from '../../../../support/tool-server/mcp-sessions.ts';

const ASKS = [
  ['elicitation/create', { message: 'To which account?', requestedSchema: { type: 'object', properties: {} } }],
  ['sampling/createMessage', { messages: [], maxTokens: 1 }],
  ['roots/list', {}],
  ['custom/ask', {}],
] as const;

describe('While a call that a person approved runs', () => {
  const { decided, errors, got, paying, streams, closing, server, DONE, PAY, ...on } = approvedSessionForEachTest();
  const { start, post, begin, stream, pay, approve, event, events, responses } = on;

  for (const [method, params] of ASKS) {
    it(`${method} of its stream is answered with an error, and does not reach the client`, async () => {
      const url = await start();
      const session = await begin(url);
      const client = await pay(url, session);
      events(paying[0])?.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }));
      paying[0]?.write(
        `id: 1\r\nevent: message\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 'e1', method, params })}\r\n\r\n`,
      );
      await eventually(() => responses().length === 1);
      paying[0]?.end(event(DONE));
      const text = await client.until('"paid"');
      expect(text).to.include('notifications/progress').and.not.to.include(method);
      const [{ id, error } = {}] = responses() as { id?: unknown; error?: { code: number; message: string } }[];
      expect([id, error?.code, error?.message.endsWith('.')]).to.deep.equal(['e1', -32601, true]);
      expect(got.at(-1)?.session).to.equal('s1');
      // Afterwards the session is as before.
      const other = await stream(url, 'GET', session);
      await other.until(': open');
      streams[0]?.write(event({ jsonrpc: '2.0', id: 'e2', method, params }));
      expect(await other.until('"e2"')).to.include(method);
      expect((await post(url, { jsonrpc: '2.0', id: 'e2', result: { content: {} } }, session)).status).to.equal(202);
      expect(responses().at(-1)).to.deep.equal({ jsonrpc: '2.0', id: 'e2', result: { content: {} } });
      expect(errors).to.deep.equal([]);
    });
  }

  it('a request of the server reaches the client on no other stream of the session, and other messages are passed', async () => {
    const url = await start();
    const [session, another] = [await begin(url), await begin(url)];
    const own = await stream(url, 'GET', session);
    const others = await stream(url, 'GET', another);
    await own.until(': open');
    await others.until(': open');
    const begun = JSON.stringify({ jsonrpc: '2.0', id: 'e1', method: 'roots/list' });
    // Begun before the call, ended within.
    for (const each of streams) each.write(`data: ${begun.slice(0, 20)}`);
    const client = await pay(url, session);
    for (const each of streams) each.write(`${begun.slice(20)}\n\n`);
    for (const each of streams) each.write(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
    expect(await own.until('list_changed')).not.to.include('roots/list');
    expect(await others.until('list_changed')).to.include('roots/list');
    await eventually(() => responses().length > 0);
    expect(responses().map(({ id }) => id)).to.deep.equal(['e1']);
    // Another call of the session: its answer is another stream of it, and does not end the approved call.
    const balance = await stream(url, 'POST', session, JSON.stringify({ ...call('balance'), id: 7 }));
    await eventually(() => paying.length === 2);
    events(paying[1])?.write(event({ jsonrpc: '2.0', id: 'e3', method: 'sampling/createMessage', params: {} }));
    paying[1]?.end(event({ ...DONE, result: { balance: 3 } }));
    expect(await balance.until('"balance"')).not.to.include('sampling');
    await eventually(() => responses().length === 2);
    for (const each of streams) each.write(event({ jsonrpc: '2.0', id: 'e4', method: 'roots/list' }));
    await eventually(() => responses().length === 3);
    expect(own.received()).not.to.include('roots/list');
    paying[0]?.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(DONE));
    await client.until('"paid"');
    for (const each of streams) each.write(event({ jsonrpc: '2.0', id: 'e5', method: 'roots/list' }));
    expect(await own.until('"e5"')).to.include('roots/list');
  });

  it('a response of the client becomes an error, also to an earlier request, and a ping is answered here', async () => {
    const url = await start();
    const session = await begin(url);
    const own = await stream(url, 'GET', session);
    await own.until(': open');
    streams[0]?.write(event({ jsonrpc: '2.0', id: 'e0', method: 'elicitation/create', params: {} }));
    await own.until('"e0"');
    const client = await pay(url, session);
    const answer = { jsonrpc: '2.0', id: 'e0', result: { action: 'accept', content: { account: 'MALLORY' } } };
    expect((await post(url, answer, session)).status).to.equal(202);
    expect(responses()).to.have.lengthOf(1);
    expect(JSON.stringify(responses())).to.include('-32601').and.include('"e0"').and.not.include('MALLORY');
    streams[0]?.write(event({ jsonrpc: '2.0', id: 'p1', method: 'ping' }));
    await eventually(() => responses().length === 2);
    expect(responses()[1]).to.deep.equal({ jsonrpc: '2.0', id: 'p1', result: {} });
    expect(own.received()).not.to.include('"p1"');
    events(paying[0])?.end(event(DONE));
    await client.until('"paid"');
    expect(decided().slice(-2)).to.deep.equal([
      ['pay', 'allow', null],
      ['MCP response', 'allow', null],
    ]);
  });

  it('a batch loses its requests, and a JSON answer with one is cut', async () => {
    const url = await start();
    const session = await begin(url);
    const ask = { jsonrpc: '2.0', id: 'e1', method: 'elicitation/create', params: {} };
    const first = await pay(url, session);
    events(paying[0])?.end(`event: message\ndata: [${JSON.stringify(ask)},\ndata: ${JSON.stringify(DONE)}]\n\n`);
    expect(await first.until('"paid"'))
      .to.include('event: message')
      .and.not.include('elicitation');
    for (const body of [[ask, DONE], ask, { ...ask, id: null }, { ...ask, Method: 'x', method: undefined, ID: 1 }]) {
      const client = await pay(url, session);
      paying.at(-1)?.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
      expect(await client.until('never')).not.to.include('elicitation');
    }
    await eventually(() => responses().length === 5);
    expect(errors).to.have.lengthOf(4);
    expect(errors[0]).to.match(/\(REQUEST\)\.$/);
  });

  it('an id of the server is repeated as it sent it, and the rest of a batch keeps its numbers', async () => {
    const sent: string[] = [];
    const url = await start(async (request, response) => {
      if (request.method === 'GET') return void server(request, response);
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      sent.push(text);
      if (text.includes('tools/call')) paying.push(response);
      else response.writeHead(202).end();
    });
    const client = await pay(url);
    const [ping, ask] = ['9007199254740993', '-18446744073709551615'].map((id) => `"jsonrpc":"2.0","id":${id}`);
    const progress =
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":9007199254740993,"total":1.50}}';
    // The client answers a request that the server sent before.
    const before = '"jsonrpc":"2.0","id":9007199254740995';
    await (await stream(url, 'POST', undefined, `{${before},"result":{"account":"MALLORY"}}`)).until('202');
    expect(sent.at(-1)).to.match(new RegExp(`^{${before},"error":{"code":-32601,"message":".*"}}$`));
    events(paying[0])?.write(`data: [{${ping},"method":"ping"},${progress}]\n\n`);
    paying[0]?.write(`data: {${ask},"method":"roots/list"}\n\n${event(DONE)}`);
    expect(await client.until('"paid"'))
      .to.include(`data: [${progress}]\n\n`)
      .and.not.include('roots/list');
    await eventually(() => sent.length === 4);
    const answers = sent.slice(2).sort();
    expect(answers[0]).to.match(new RegExp(`^{${ask},"error":{"code":-32601,"message":".*"}}$`));
    expect(answers[1]).to.equal(`{${ping},"result":{}}`);
    expect(errors).to.deep.equal([]);
  });

  it('a request whose id nests too deep to be repeated is dropped, and the guard goes on', async () => {
    const url = await start();
    const session = await begin(url);
    const client = await pay(url, session);
    events(paying[0]);
    for (const number of ['1', '9007199254740993']) {
      const id = `${'['.repeat(20_000)}${number}${']'.repeat(20_000)}`;
      paying[0]?.write(`data: {"jsonrpc":"2.0","id":${id},"method":"roots/list"}\n\n`);
    }
    paying[0]?.write(event(DONE));
    expect(await client.until('"paid"')).not.to.include('roots/list');
    expect([responses(), errors]).to.deep.equal([[], []]);
  });

  it('no answer has a coding that the guard cannot read', async () => {
    const codings: unknown[] = [];
    const url = await start((request, response) => {
      if (request.method === 'POST' && request.headers['mcp-session-id'] === undefined)
        return void server(request, response);
      codings.push(request.headers['accept-encoding']);
      const zipped = gzipSync(event({ jsonrpc: '2.0', id: 'e1', method: 'roots/list' }));
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip' }).end(zipped);
    });
    const session = await begin(url);
    const client = await stream(url, 'GET', session);
    expect(await client.until('bad_gateway')).to.match(/^HTTP\/1\.1 502 /);
    expect(codings).to.deep.equal(['identity']);
    expect(errors[0]).to.match(/\(CODING\)\.$/);
  });

  it('counts as running when its client leaves, so that no resumed stream asks for it', async () => {
    const url = await start();
    const session = await begin(url);
    const client = await pay(url, session);
    events(paying[0])?.write('id: 1\n\n');
    await client.until('id: 1');
    client.leave();
    await eventually(() => paying[0]?.closed === true);
    const resumed = await stream(url, 'GET', session);
    await resumed.until(': open');
    streams[0]?.write(event({ jsonrpc: '2.0', id: 'e1', method: 'elicitation/create', params: {} }));
    await eventually(() => responses().length === 1);
    expect((await post(url, { jsonrpc: '2.0', id: 'e1', result: {} }, session)).status).to.equal(202);
    streams[0]?.write(event(DONE));
    expect(await resumed.until('"paid"')).not.to.include('elicitation');
    expect(responses().map((message) => 'error' in message)).to.deep.equal([true, true]);
    // Another session of the same agent is free.
    const another = await begin(url);
    expect((await post(url, { jsonrpc: '2.0', id: 'e9', result: {} }, another)).status).to.equal(202);
    expect(responses().at(-1)).to.deep.equal({ jsonrpc: '2.0', id: 'e9', result: {} });
  });

  it('the tool of a real server gets an error in place of the agent’s words, and says so', async () => {
    const app = express();
    const sessions = inSessions(() => {
      const bank = new McpServer({ name: 'bank', version: '1.0.0' });
      bank.registerTool('pay', { inputSchema: z.object({ amount: z.number() }) }, async (_, { mcpReq }) => {
        const to = await mcpReq
          .elicitInput({
            mode: 'form',
            message: 'To which account?',
            requestedSchema: { type: 'object', properties: {} },
          })
          .then(({ content }) => `${content?.account}`)
          .catch(() => 'nobody');
        return { content: [{ type: 'text', text: `paid to ${to}` }] };
      });
      return bank;
    });
    app.all('/mcp', (request: Request, response: Response) => void sessions(request, response, undefined));
    const bank = createServer(app);
    closing.push(() => closeServer(bank));
    const url = await start(`http://127.0.0.1:${await listen(bank)}`);
    const capable = { ...initialize, params: { ...initialize.params, capabilities: { elicitation: { form: {} } } } };
    const { session } = await post(url, capable);
    await post(url, notification('notifications/initialized'), session);
    // The server asks on this stream.
    const own = await stream(url, 'GET', session);
    await own.until('\r\n\r\n');
    await post(url, PAY, session);
    approve();
    const { text } = await post(url, PAY, session);
    expect(text).to.include('paid to nobody').and.not.include('elicitation');
    expect(own.received()).not.to.include('elicitation');
  });
});
