/** What a client gets of the lists of a server behind the proxy, with `mcp.list: allowed`. The rules of one message: `../core/allowed-list.test.ts`. */

import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { byLength } from '../../../../support/length.ts';
import { rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = 'application/json';
const EVENTS = 'text/event-stream';
const mcp = {
  path: '/mcp',
  tools: { read: { scope: ['jira:read'] }, kill: { scope: ['jira:admin'] } },
  methods: {
    'prompts/get': { scope: ['jira:admin'] },
    'resources/list': { scope: ['jira:read'] },
    'resources/read': { scope: ['jira:admin'] },
  },
  list: 'allowed',
} as const;
const tools = (...names: readonly string[]) => names.map((name) => ({ name }));
const answer = (result: unknown, id: unknown = 7) => JSON.stringify({ jsonrpc: '2.0', id, result });
const whole = answer({ tools: tools('read', 'kill', 'forgotten') });
const cut = answer({ tools: tools('read') });

describe('A list behind the proxy', () => {
  const proxy = proxyForEachTest();
  const codings: unknown[] = [];
  beforeEach(() => {
    codings.length = 0;
  });

  const start = (
    type: string | undefined,
    write: (response: ServerResponse) => void,
    more: object = {},
    status = 200,
  ) =>
    proxy.start(
      (request, response) => {
        codings.push(request.headers['accept-encoding']);
        request.resume().on('end', () => {
          response.writeHead(status, { ...(type && { 'Content-Type': type }) });
          write(response);
        });
      },
      { routes: [], mcp: { ...mcp, ...more } },
    );
  const ask = async (url: string, { scope = 'jira:read', message = rpc('tools/list'), method = 'POST' } = {}) => {
    const [, authorization] = proxy.bearer({ scope });
    const response = await fetch(`${url}/mcp`, {
      method,
      headers: { authorization, 'content-type': JSON_TYPE, accept: `${JSON_TYPE}, ${EVENTS}` },
      ...(method === 'POST' && { body: JSON.stringify(message) }),
    });
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
  };
  const error = (id: unknown, why: string) => {
    return [
      {
        jsonrpc: '2.0',
        id,
        error: { code: -32603, message: 'The server sent an answer that cannot be read. No part of it is passed on.' },
      },
      [
        `The lists in an answer of the MCP server cannot be cut, because ${why}. The client gets an error in its place.`,
      ],
    ];
  };

  it('names what the token may call, and more at the call after a step-up, and the service is asked for no coding', async () => {
    const url = await start(JSON_TYPE, (response) => response.end(whole));
    expect(await ask(url)).to.deep.equal({ status: 200, type: JSON_TYPE, text: cut });
    expect((await ask(url, { scope: 'jira:read jira:admin' })).text).to.equal(answer({ tools: tools('read', 'kill') }));
    expect((await ask(url, { scope: 'other' })).text).to.equal(answer({ tools: [] }));
    expect(codings).to.deep.equal(Array(3).fill('identity'));
    expect(proxy.errors).to.deep.equal([
      'Tools without a policy: forgotten. Each call of them is refused as unknown_tool.',
    ]);
  });

  it('passes byte for byte by default, in its coding', async () => {
    const url = await start(JSON_TYPE, (response) => response.end(whole), { list: undefined });
    expect((await ask(url)).text).to.equal(whole);
    expect(codings).not.to.include('identity');
  });

  it('of prompts and resources is empty unless the token may use them', async () => {
    const lists = {
      prompts: [{ name: 'p' }],
      resources: [{ uri: 'a:b' }],
      resourceTemplates: [{ uriTemplate: 'a:{b}' }],
    };
    const url = await start(JSON_TYPE, (response) => response.end(answer(lists)));
    const message = rpc('prompts/list');
    expect((await ask(url, { message })).text).to.equal(answer({ prompts: [], resources: [], resourceTemplates: [] }));
    expect((await ask(url, { message, scope: 'jira:admin' })).text).to.equal(answer(lists));
  });

  it('is cut in the answer to any message, and in each event of any stream, whose other events pass byte for byte', async () => {
    const gap = whole.indexOf('"tools"');
    const others = ': open\n\nevent: message\r\nid: 1\r\ndata: {"method": "ping","id":1}\r\n\r\nid: 2\ndata\n\n';
    const parts = [
      others,
      `id: 3\nretry: 5\ndata: ${whole.slice(0, gap)}\ndata: ${whole.slice(gap)}\n`,
      '\nda',
      'ta: [7]\n\n',
    ];
    const url = await start(EVENTS, (response) => {
      const [part = '', ...rest] = parts;
      response.write(part);
      setImmediate(() => response.end(rest.join('')));
    });
    // A break between two tokens is white space.
    const expected = `${others}id: 3\nretry: 5\ndata: ${cut}\n\ndata: [7]\n\n`;
    for (const more of [{}, { message: rpc('tools/call', { name: 'read' }) }, { method: 'GET' }])
      expect((await ask(url, more)).text).to.equal(expected);
    expect(proxy.errors).to.have.lengthOf(1);
  });

  it('passes in no line that only some clients read', async () => {
    const url = await start(EVENTS, (response) => response.end(`${whole}\n\nid: 1\n${whole}\ndata: 7\n\n`));
    expect((await ask(url)).text).to.equal('\n\nid: 1\ndata: 7\n\n');
  });

  it('that is changed while it is sent is cut as it was when it ended', async () => {
    const pages = [answer({ tools: tools('kill'), nextCursor: '2' }), answer({ tools: tools('read', 'kill') })];
    const url = await start(EVENTS, (response) => {
      response.write(`data: ${pages[0]?.slice(0, 30)}`);
      setImmediate(() => response.end(`${pages[0]?.slice(30)}\n\ndata: ${pages[1]}\n\n`));
    });
    expect((await ask(url)).text).to.equal(`data: ${answer({ tools: [], nextCursor: '2' })}\n\ndata: ${cut}\n\n`);
  });

  const unreadable: readonly (readonly [what: string, why: string, type: string | undefined, body: string | Buffer])[] =
    [
      ['is cut off', 'it is not JSON', JSON_TYPE, whole.slice(0, -9)],
      ['is no JSON', 'it is not JSON', 'text/html', '<html>kill</html>'],
      ['is in another encoding', 'it is not JSON', `${JSON_TYPE}; charset=utf-16le`, Buffer.from(whole, 'utf16le')],
      ['is not UTF-8', 'it is not JSON', undefined, Buffer.concat([Buffer.from(whole), Buffer.of(0xc0, 0xa2)])],
      ['is no list', 'its list is not a list', JSON_TYPE, answer({ tools: { kill: 1 } })],
      ['has a tool without a name', 'a tool has no name', JSON_TYPE, answer({ tools: [{ title: 'kill' }] })],
    ];
  for (const [what, why, type, body] of unreadable) {
    it(`that ${what} is an error, with one line on standard error, and no tool is named`, async () => {
      const url = await start(type, (response) => response.end(body));
      const { text, ...head } = await ask(url);
      expect([JSON.parse(text), proxy.errors]).to.deep.equal(error(7, why));
      expect(head).to.deep.equal({ status: 200, type: JSON_TYPE });
    });
  }

  it('that three events share is an error in each of them, with their places', async () => {
    const parts = [whole.slice(0, 30), whole.slice(30, 50), whole.slice(50)];
    const url = await start(EVENTS, (response) =>
      response.end(parts.map((part, at) => `id: ${at}\nevent: x\ndata: ${part}\n\n`).join('')),
    );
    const [wrong, [line]] = error(7, 'it is not JSON') as [object, string[]];
    expect((await ask(url)).text).to.equal(
      parts.map((_, at) => `id: ${at}\ndata: ${JSON.stringify(wrong)}\n\n`).join(''),
    );
    expect(proxy.errors).to.deep.equal(Array(3).fill(line));
  });

  it('whose event has no end is an error', async () => {
    const url = await start(EVENTS, (response) => response.end(`: open\n\ndata: ${whole}`));
    const [wrong, lines] = error(7, 'it ends early');
    expect([(await ask(url)).text, proxy.errors]).to.deep.equal([
      `: open\n\ndata: ${JSON.stringify(wrong)}\n\n`,
      lines,
    ]);
  });

  for (const [what, type, before] of [
    ['JSON', JSON_TYPE, ''],
    ['an event', EVENTS, 'data: '],
  ] as const) {
    it(`of up to 50 MB is an error, before ${what} has come to its end`, async () => {
      const part = `{"name":"read","description":"${'x'.repeat(MIB)}"},`;
      let left = byLength({ short: 12, full: 50 });
      const url = await start(type, (response) => {
        response.write(`${before}{"jsonrpc":"2.0","id":7,"result":{"tools":[`);
        const more = (): void => {
          if (response.destroyed) return;
          left -= 1;
          if (left > 0) response.write(part, more);
          // The body of JSON has no end.
          else if (type === EVENTS) response.end(`{"name":"kill"}]}}\n\ndata: ${cut}\n\n`);
        };
        more();
      });
      const { text } = await ask(url);
      const [wrong, lines] = error(7, 'it is too long');
      const expected = JSON.stringify(wrong);
      expect(text).to.equal(type === EVENTS ? `data: ${expected}\n\ndata: ${cut}\n\n` : expected);
      expect(proxy.errors).to.deep.equal(lines);
    });
  }

  it('of exactly 8 MiB is cut, and one of a byte more is an error', async () => {
    for (const more of [0, 1]) {
      const url = await start(JSON_TYPE, (response) => response.end(whole.padEnd(8 * MIB + more)));
      const { text } = await ask(url);
      expect(text.slice(0, 200)).to.equal(
        more === 0 ? cut : JSON.stringify(error(7, 'it is too long')[0]).slice(0, 200),
      );
      await proxy.stop();
    }
  });

  it('is refused with 502 if the service codes it all the same', async () => {
    const url = await proxy.start(
      (request, response) => {
        request.resume().on('end', () => {
          response.writeHead(200, { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }).end(gzipSync(whole));
        });
      },
      { routes: [], mcp },
    );
    expect((await ask(url)).status).to.equal(502);
    expect(proxy.errors.join()).to.match(/CODING/);
  });

  it('is cut in an answer of any status, and other answers than messages pass there', async () => {
    const url = await start(JSON_TYPE, (response) => response.end(whole), {}, 500);
    expect((await ask(url)).text).to.equal(cut);
    await proxy.stop();
    const page = await start('text/html', (response) => response.end('<html>Not found</html>'), {}, 404);
    expect(await ask(page)).to.deep.equal({ status: 404, type: 'text/html', text: '<html>Not found</html>' });
    await proxy.stop();
    const accepted = await start(undefined, (response) => response.end(), {}, 202);
    expect(await ask(accepted)).to.include({ status: 202, text: '' });
    expect(proxy.errors.filter((line) => !line.startsWith('Tools without'))).to.deep.equal([]);
  });

  it('is cut also if the server answers with the id of another request', async () => {
    const url = await start(EVENTS, (response) =>
      response.end(`data: ${answer({ tools: tools('kill') }, 8)}\n\ndata: ${answer({ tools: 1 }, 9)}\n\n`),
    );
    const { text } = await ask(url);
    expect(text)
      .to.include(`data: ${answer({ tools: [] }, 8)}\n\n`)
      .and.include('"id":9,"error"');
  });
});
