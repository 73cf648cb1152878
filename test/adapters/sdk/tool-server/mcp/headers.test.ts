/** The headers that repeat a part of the message: `Mcp-Method`, `Mcp-Name`, `MCP-Protocol-Version` (MCP 2026-07-28). */

import { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import {
  call,
  FRONTS,
  guardedForEachTest,
  incomingWith,
  initialize,
  read,
  rpc,
} from '../../../../support/tool-server/guarded-messages.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const REVISION = '2026-07-28';
const BOARD = 'jira://boards/1';
const FRENCH = 'lire un problème';
const base64 = (text: string | Buffer) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const since2026 = { ...read, params: { ...read.params, _meta: { [VERSION]: REVISION } } };

type Lines = readonly (readonly [name: string, value: string])[];

/** Of each: what, the headers, the message, and the tool or method in the event. */
const DIFFERENT: readonly (readonly [string, Lines, object, string])[] = [
  ['another method', [['Mcp-Method', 'ping']], read, 'read_issue'],
  ['the method in other case', [['Mcp-Method', 'Tools/Call']], read, 'read_issue'],
  ['a method that is empty', [['Mcp-Method', '']], read, 'read_issue'],
  [
    'the method twice',
    [
      ['Mcp-Method', 'tools/call'],
      ['mcp-method', 'tools/call'],
    ],
    read,
    'read_issue',
  ],
  [
    'two methods',
    [
      ['Mcp-Method', 'tools/call'],
      ['MCP-METHOD', 'ping'],
    ],
    read,
    'read_issue',
  ],
  [
    'another method than that of a notification',
    [['Mcp-Method', 'ping']],
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    'MCP notifications/initialized',
  ],
  [
    'another tool',
    [
      ['Mcp-Method', 'tools/call'],
      ['Mcp-Name', 'comment'],
    ],
    read,
    'read_issue',
  ],
  ['the tool in other case', [['Mcp-Name', 'Read_Issue']], read, 'read_issue'],
  [
    'two tools',
    [
      ['Mcp-Name', 'comment'],
      ['Mcp-Name', 'read_issue'],
    ],
    read,
    'read_issue',
  ],
  ['another tool in Base64', [['Mcp-Name', base64('comment')]], read, 'read_issue'],
  ['Base64 without padding', [['Mcp-Name', base64('read_issue').replace('==', '')]], read, 'read_issue'],
  ['Base64 with trailing bits', [['Mcp-Name', base64('read_issue').replace('ZQ==', 'ZR==')]], read, 'read_issue'],
  ['Base64 with a blank', [['Mcp-Name', base64('read_issue').replace('?cm', '? cm')]], read, 'read_issue'],
  ['Base64 that is no UTF-8', [['Mcp-Name', base64(Buffer.from([0xff]))]], call('\ufffd'), '\ufffd'],
  ['Base64 of another alphabet', [['Mcp-Name', '=?base64?_-8=?=']], read, 'read_issue'],
  ['Base64 under another name', [['Mcp-Name', base64('read_issue').replace('base64', 'BASE64')]], read, 'read_issue'],
  [
    'a name that reads as Base64, not encoded',
    [['Mcp-Name', base64('read_issue')]],
    call(base64('read_issue')),
    base64('read_issue'),
  ],
  ['another resource', [['Mcp-Name', 'jira://boards/2']], rpc('resources/read', { uri: BOARD }), 'MCP resources/read'],
  ['another prompt', [['Mcp-Name', 'secret']], rpc('prompts/get', { name: 'open' }), 'MCP prompts/get'],
  ['a prompt whose name is no text', [['Mcp-Name', '7']], rpc('prompts/get', { name: 7 }), 'MCP prompts/get'],
  ['another revision', [['MCP-Protocol-Version', '2025-11-25']], since2026, 'read_issue'],
  [
    'the revision twice',
    [
      ['MCP-Protocol-Version', REVISION],
      ['MCP-Protocol-Version', REVISION],
    ],
    since2026,
    'read_issue',
  ],
];

const EQUAL: readonly (readonly [string, Lines, object])[] = [
  [
    'the same method and tool',
    [
      ['Mcp-Method', 'tools/call'],
      ['Mcp-Name', 'read_issue'],
    ],
    read,
  ],
  ['the tool in Base64', [['mcp-name', base64('read_issue')]], read],
  ['a tool that fits into no header', [['Mcp-Name', base64(FRENCH)]], call(FRENCH)],
  ['a name that reads as Base64, encoded', [['Mcp-Name', base64(base64('x'))]], call(base64('x'))],
  ['the same resource', [['Mcp-Name', BOARD]], rpc('resources/read', { uri: BOARD })],
  ['a name of a method that has none', [['Mcp-Name', 'x']], rpc('tools/list')],
  ['a name of a prompt that is not named', [['Mcp-Name', 'x']], rpc('prompts/get')],
  ['a revision, and a body without one', [['MCP-Protocol-Version', '2025-11-25']], read],
  ['a revision, and another one that is offered', [['MCP-Protocol-Version', '2025-06-18']], initialize],
  ['a method, and an answer of the client', [['Mcp-Method', 'ping']], { jsonrpc: '2.0', id: 1, result: {} }],
];

describe('The headers of an MCP message', () => {
  const guarded = guardedForEachTest();
  const { tokenWith, decided } = guarded;
  const scope = ['jira:read'];
  const options = {
    tools: Object.fromEntries(
      ['read_issue', 'comment', FRENCH, '\ufffd', base64('x'), base64('read_issue')].map((name) => [
        name,
        { scope, highRisk: name === 'read_issue' },
      ]),
    ),
    methods: { 'resources/read': { scope }, 'prompts/get': { scope } },
  };

  async function send(lines: Lines, message: object, claims = {}) {
    const own: Lines = [
      ['Authorization', `Bearer ${tokenWith(claims)}`],
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
    ];
    return rawRequest(guarded.app.endpoint, 'POST', [...own, ...lines], JSON.stringify(message));
  }

  for (const [where, front] of FRONTS) {
    describe(where, () => {
      beforeEach(() => guarded.start({ ...front, ...options }));

      it('are refused where they differ from the body, before the control plane is asked, with an event', async () => {
        const MESSAGE = 'A header names another method, name or protocol version than the body, or is there twice.';
        for (const [what, lines, message, route] of DIFFERENT) {
          const answer = await send(lines, message);
          expect(answer.status, what).to.equal(400);
          expect(JSON.parse(answer.body), what).to.deep.equal({
            jsonrpc: '2.0',
            error: { code: -32020, message: MESSAGE },
            id: 'id' in message ? 7 : null,
          });
          expect(answer.headers['www-authenticate'], what).to.equal(undefined);
          expect(decided().at(-1), what).to.deep.equal([route, 'deny', 'headers_differ', 'ada']);
        }
        expect(guarded.fixture.plane.asked('/oauth2/introspect')).to.equal(0);
        expect(guarded.app.called).to.deep.equal([]);
      });

      it('are no fault where they are equal, or the body states nothing', async () => {
        for (const [what, lines, message] of EQUAL) {
          const answer = await send(lines, message);
          expect(answer.body, what).not.to.include('-32020');
          expect(decided().at(-1)?.[1], what).to.equal('allow');
        }
      });

      it('are compared after the scope and the session, and not for a token that is refused', async () => {
        const lines: Lines = [['Mcp-Name', 'comment']];
        expect((await send(lines, read, { aud: 'https://wiki.example' })).status).to.equal(401);
        expect((await send(lines, read, { scope: 'wiki:read' })).status).to.equal(403);
        expect((await send([...lines, ['Mcp-Session-Id', 'x']], read)).status).to.equal(404);
        expect(decided().map(([route, , reason]) => [route, reason])).to.deep.equal([
          [null, 'wrong_audience'],
          ['read_issue', 'insufficient_scope'],
          ['read_issue', 'unknown_tool'],
        ]);
      });
    });
  }

  it('are read from requests of functions too, which have no raw headers', async () => {
    await guarded.start(options);
    const incoming = Object.assign(incomingWith(read, ''), { rawHeaders: [] });
    incoming.headers = { authorization: `Bearer ${tokenWith()}`, 'mcp-name': 'comment' };
    const response = new ServerResponse(incoming);
    guarded.guardOf()(incoming, response, () => undefined);
    await eventually(() => response.writableEnded);
    expect([response.statusCode, decided()]).to.deep.equal([400, [['read_issue', 'deny', 'headers_differ', 'ada']]]);
  });
});
