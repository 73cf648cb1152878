/** Which tools, prompts and resources remain in a message, and which messages cannot be cut. The readers of streams: `../guard/allowed-lists.test.ts`. */

import { expect } from 'chai';
import { cutText } from '../../../../../adapters/sdk/tool-server/core/allowed-list.ts';

const may = {
  tool: (name: string) => name === 'read' || name === '__proto__',
  method: (name: string) => name === 'prompts/get',
};
const cut = (text: string) => cutText(text, may, 'asked');
const tools = (...names: readonly string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' } }));
const answer = (result: unknown, id: unknown = 7) => JSON.stringify({ jsonrpc: '2.0', id, result });
const written = (text: string) => JSON.parse(cut(text)?.text ?? text);

describe('A list of the MCP server', () => {
  it('names only tools that the token may call, in their order, also twice, with its cursor and what it says besides', () => {
    const more = { nextCursor: 'next', _meta: { a: 1 } };
    expect(written(answer({ tools: tools('kill', 'read', 'other', 'read'), ...more }))).to.deep.equal({
      jsonrpc: '2.0',
      id: 7,
      result: { tools: tools('read', 'read'), ...more },
    });
  });

  it('is empty for prompts, resources and their templates unless the token may use them', () => {
    const result = {
      prompts: [{ name: 'p' }],
      resources: [{ uri: 'a:b' }],
      resourceTemplates: [{ uriTemplate: 'a:{b}' }],
    };
    expect(written(answer(result)).result).to.deep.equal({ ...result, resources: [], resourceTemplates: [] });
  });

  it('is private and kept for at most a minute, and a list without these members gets none', () => {
    const limits = (more: object) => {
      const { tools: _, ...rest } = written(answer({ tools: [], ...more })).result;
      return rest;
    };
    expect(limits({ ttlMs: 300_000, cacheScope: 'public' })).to.deep.equal({ ttlMs: 60_000, cacheScope: 'private' });
    expect(limits({ ttlMs: 5 })).to.deep.equal({ ttlMs: 5, cacheScope: 'private' });
    expect(limits({ ttlMs: '300000' })).to.deep.equal({ ttlMs: 0, cacheScope: 'private' });
    expect(limits({ cacheScope: 'public' })).to.deep.equal({ cacheScope: 'private' });
    expect(limits({})).to.deep.equal({});
    expect(written('{"id":7,"result":{"tools":[],"ttlMs":1e400}}').result.ttlMs).to.equal(60_000);
  });

  it('is cut in each message of a batch, and an error replaces only the message that cannot be cut', () => {
    const batch = `[${answer({ tools: tools('kill') }, 1)},${answer({ tools: 7 }, 2)},${answer({ ok: true }, 3)}]`;
    const [first, second, third] = written(batch);
    expect([first.result, second.error.code, second.id, third.result]).to.deep.equal([
      { tools: [] },
      -32603,
      2,
      { ok: true },
    ]);
  });

  it('passes with a tool named __proto__ like any other, if the token may call it', () => {
    expect(written(answer({ tools: tools('__proto__', 'constructor') })).result.tools).to.deep.equal(
      tools('__proto__'),
    );
  });

  it('keeps each number as it was sent, also one that a double rounds, and the order of members', () => {
    const limits =
      '{"z":{"maximum":18446744073709551615},"a":{"multipleOf":0.10000000000000000555},"b":{"maximum":1e400}}';
    const sent = (list: string, more: string) =>
      `{"jsonrpc":"2.0","result":{"tools":[${list}],"ttlMs":${more}},"id":9007199254740993}`;
    const kept = `{"name":"read","inputSchema":{"type":"object","properties":${limits}}}`;
    expect(cut(sent(`{"name":"kill"},${kept}`, '60001'))?.text).to.equal(sent(kept, '60000,"cacheScope":"private"'));
    const batch = cut(
      `[${sent(kept, '1')},{"id":7,"result":{"tools":7}},{"id":9007199254740993,"result":{"tools":7}}]`,
    );
    expect(batch?.text).to.include(kept).and.to.include('"id":7,"error"').and.to.include('"id":null,"error"');
  });

  const unreadable: readonly (readonly [what: string, text: string, id?: unknown])[] = [
    ['is cut off', answer({ tools: tools('kill') }).slice(0, -9), 'asked'],
    ['is no JSON', '<html>kill</html>', 'asked'],
    ['is no list', answer({ tools: { kill: {} } })],
    ['is null', answer({ tools: null })],
    ['of prompts is no list', answer({ prompts: { kill: {} } })],
    ['has a tool that is no object', answer({ tools: [...tools('read'), 'kill'] })],
    ['has a tool without a name', answer({ tools: [...tools('read'), { title: 'kill' }] })],
    ['has a tool whose name is no text', answer({ tools: [{ name: ['kill'] }] })],
    ['has a tool with a second name in other letters', answer({ tools: [{ name: 'read', Name: 'kill' }] })],
    ['has a tool with a prototype', '{"id":7,"result":{"tools":[{"name":"read","__proto__":{"name":"kill"}}]}}'],
    ['is a member in other letters', answer({ Tools: tools('kill') })],
    ['is a member in letters that some parsers fold', answer({ tool\u017f: tools('kill') })],
    ['is in a result in other letters', JSON.stringify({ id: 7, Result: { tools: tools('kill') } })],
    ['is in the prototype of the result', '{"id":7,"result":{"__proto__":{"tools":[{"name":"kill"}]}}}'],
    [
      'nests deeper than V8 writes',
      `{"id":7,"result":{"tools":[{"name":"read","a":${'['.repeat(60_000)}${']'.repeat(60_000)}}]}}`,
      'asked',
    ],
    [
      'nests deep, with a long number',
      `{"id":7,"result":{"tools":[{"name":"read","a":${'['.repeat(60_000)}1234567890123456${']'.repeat(60_000)}}]}}`,
      'asked',
    ],
  ];
  for (const [what, text, id = 7] of unreadable) {
    it(`that ${what} is an error with the id, which repeats no part of it`, () => {
      const found = cut(text);
      expect(found?.unreadable).to.be.a('string');
      const message = JSON.parse(found?.text ?? '');
      expect([message.id, message.error.code, Object.keys(message)]).to.deep.equal([
        id,
        -32603,
        ['jsonrpc', 'id', 'error'],
      ]);
      expect(`${found?.text}${found?.unreadable}`).not.to.include('kill');
    });
  }

  it('that cannot be cut has no id in its error if the message has none that JSON-RPC allows', () => {
    for (const id of [null, true, { a: 1 }, [7], 2 ** 60]) expect(written(answer({ tools: 7 }, id)).id).to.equal(null);
  });

  it('with a doubled member reaches the client as it was read here', () => {
    const [list, none] = [`"result":{"tools":[{"name":"kill"}]}`, '"result":{"ok":1}'];
    expect(cut(`{"id":7,${list},${none}}`)?.text).to.equal('{"id":7,"result":{"ok":1}}');
    expect(cut(`{"id":7,${none},${list}}`)?.text).to.equal('{"id":7,"result":{"tools":[]}}');
    expect(cut(`{"id":7,"result":{"tools":[{"name":"kill"}],"tools":[]}}`)?.text).not.to.include('kill');
    expect(cut(`{"id":7,"result":{"tools":[{"name":"kill","name":"read"}]}}`)?.text).not.to.include('kill');
    expect(cut(`{"id":7,"re\\u0073ult":{"\\u0074ools":[{"name":"kill"}]}}`)?.text).not.to.include('kill');
  });

  it('is looked for only in the result of a message: all other texts pass as they are', () => {
    for (const text of [
      answer({ content: [{ type: 'text', text: 'The tools: kill' }], structuredContent: { tools: [{ id: 1 }] } }),
      '{"id": 12345678901234567890, "result": {"tool": 12345678901234567890, "text": "\\u00e9"}}',
      '{"method":"sampling/createMessage","id":1,"params":{"tools":[{"title":"kill"}]}}',
      '{"id":1,"error":{"code":1,"message":"no tools"}}',
      '[]',
      '7',
      'null',
    ])
      expect(cut(text), text).to.equal(undefined);
  });
});
