import { expect } from 'chai';
import fc from 'fast-check';
import { isJsonObject, type Json, member, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { describeVectors } from '../../support/public-vectors.ts';

/** Any JSON value that all parsers read the same way. */
const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' });

describe('strict JSON', () => {
  it('reads everything that JSON.stringify writes, with the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify(value);
        expect(parseStrictJson(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('reads a long text in time that grows with its length, also after V8 has optimized the code', () => {
    // The time for 1 MiB was 55 seconds.
    const text = `{"a":${' '.repeat(1024 * 1024)}1}`;
    const { user: before } = process.cpuUsage();
    for (let round = 0; round < 40; round += 1) expect(parseStrictJson(text)).to.deep.equal({ a: 1 });
    expect((process.cpuUsage().user - before) / 1_000_000).to.be.below(10);
  });

  it('refuses a repeated member, at any level and in any spelling', () => {
    const name = fc.string({ maxLength: 5 });
    const path = fc.array(fc.oneof(fc.constant('array'), fc.string({ maxLength: 3 })), { maxLength: 6 });
    fc.assert(
      fc.property(name, json, json, path, fc.boolean(), (twice, first, second, levels, escaped) => {
        const again = escaped ? spelledOut(twice) : JSON.stringify(twice);
        const object = `{${JSON.stringify(twice)}:${JSON.stringify(first)},${JSON.stringify(`${twice}-`)}:0,${again}:${JSON.stringify(second)}}`;
        const sound = `{${JSON.stringify(twice)}:${JSON.stringify(first)},${JSON.stringify(`${twice}-`)}:0}`;
        expect(parseStrictJson(within(levels, sound))).not.to.equal(undefined);
        expect(parseStrictJson(within(levels, object))).to.equal(undefined);
      }),
    );
  });

  it('accepts the same member in two objects, and a value equal to a member name', () => {
    for (const text of [
      '{"a":{"a":{"a":1}},"b":{"a":2}}',
      '[{"a":1},{"a":1}]',
      '{"a":"a","b":"b"}',
      '{"a":["a","a"]}',
    ]) {
      expect(parseStrictJson(text), text).to.deep.equal(JSON.parse(text));
    }
  });

  for (const [title, text] of [
    ['a lone surrogate in a value', '{"a":"\\ud83d"}'],
    ['a lone surrogate in a name', '{"\\udc00":1}'],
    ['a lone surrogate in an array', '["\\ud83dx"]'],
    ['a lone surrogate that is not escaped', '"\ud83d"'],
    ['a byte order mark', '\ufeff{}'],
    ['two values', '{}{}'],
    ['a comment', '{}//'],
    ['single quotes', "{'a':1}"],
    ['an unfinished string', '{"a":"'],
    ['an unfinished escape', '"\\'],
    ['an unopened bracket', ']'],
    ['nothing', ''],
  ] as const) {
    it(`refuses ${title}`, () => {
      expect(parseStrictJson(text)).to.equal(undefined);
    });
  }

  it('reads 32 levels of nesting and refuses the 33rd', () => {
    expect(parseStrictJson('['.repeat(32) + ']'.repeat(32))).not.to.equal(undefined);
    expect(parseStrictJson('['.repeat(33) + ']'.repeat(33))).to.equal(undefined);
    expect(parseStrictJson(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)).to.equal(undefined);
  });

  it('refuses unlimited nesting without a stack overflow', () => {
    expect(parseStrictJson('['.repeat(500_000))).to.equal(undefined);
    expect(parseStrictJson('{"a":'.repeat(500_000))).to.equal(undefined);
  });

  it('finds only own members of an object, and __proto__ does not set the prototype', () => {
    const value = parseStrictJson('{"__proto__":{"admin":true},"own":1}');
    if (!isJsonObject(value)) throw new Error('not an object');
    expect(member(value, 'admin')).to.equal(undefined);
    expect(member(value, 'constructor')).to.equal(undefined);
    expect(member(value, 'toString')).to.equal(undefined);
    expect(member(value, 'own')).to.equal(1);
    expect(member(value, '__proto__')).to.deep.equal({ admin: true });
  });

  it('tells objects from arrays, null and other values', () => {
    const others: (Json | undefined)[] = [null, [], 'a', 1, true, undefined];
    expect(others.some(isJsonObject)).to.equal(false);
    expect(isJsonObject({})).to.equal(true);
  });
});

describeVectors<Record<string, string>>('strict JSON and the JSON test suite', 'json_test_suite.json', (suite) => {
  // Both texts are valid JSON that names a member twice, which this parser refuses.
  const ambiguous = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json'];

  it('refuses every text that must be refused', () => {
    const taken = Object.entries(suite).filter(([name, body]) => name.startsWith('n_') && read(body) !== undefined);
    expect(taken.map(([name]) => name)).to.deep.equal([]);
  });

  it('reads every text that a parser must accept, except texts that name a member twice', () => {
    const refused = Object.entries(suite).filter(([name, body]) => name.startsWith('y_') && read(body) === undefined);
    expect(refused.map(([name]) => name)).to.have.members(ambiguous);
  });

  /** Decodes as the HTTP endpoints do: valid UTF-8 only, without a byte order mark. */
  function read(body: string): Json | undefined {
    const text = readUtf8(Buffer.from(body, 'base64'));
    return text === undefined ? undefined : parseStrictJson(text);
  }
});

/** Writes every character of the name as an escape. */
function spelledOut(name: string): string {
  const units = Array.from({ length: name.length }, (_, at) => name.charCodeAt(at).toString(16).padStart(4, '0'));
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
}

function within(levels: readonly string[], text: string): string {
  return levels.reduce(
    (inner, level) => (level === 'array' ? `[1,${inner}]` : `{${JSON.stringify(level)}:${inner}}`),
    text,
  );
}
