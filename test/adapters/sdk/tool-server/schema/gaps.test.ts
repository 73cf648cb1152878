/** Where schemas let more pass than their authors may mean. */

import { expect } from 'chai';
import { compileSchema } from '../../../../../adapters/sdk/tool-server/schema/compiled.ts';
import { gapsOf, idleKeywords } from '../../../../../adapters/sdk/tool-server/schema/gaps.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';

const AMOUNT = { value: { type: 'number', maximum: 50 }, currency: { const: 'EUR' } };
const named = (paths: readonly (readonly (string | number)[])[]) => paths.map((path) => path.join('.'));

/** Each has the gap, and a value that passes through it. */
const optional: readonly (readonly [schema: Json, gaps: readonly string[], passes: Json])[] = [
  [{ type: 'object', properties: AMOUNT, required: ['value'] }, ['properties.currency'], { value: 5 }],
  [
    {
      required: ['amount'],
      properties: { amount: { type: 'object', properties: AMOUNT, required: ['value'] } },
    },
    ['properties.amount.properties.currency'],
    { amount: { value: 5 } },
  ],
  [
    { type: 'array', items: { type: 'object', properties: { price: { const: 5 } } } },
    ['items.properties.price'],
    [{ prize: 900 }],
  ],
  [
    { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { b: { const: 1 } } } } },
    ['$defs.a.properties.b'],
    {},
  ],
  [
    { anyOf: [{ required: ['a'], properties: { a: { const: 1 }, b: { const: 2 } } }, false] },
    ['anyOf.0.properties.b'],
    { a: 1 },
  ],
  [{ properties: { a: { const: 1 } }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }, ['properties.a'], { b: 1 }],
  [
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
    { if: { required: ['a'] }, then: { properties: { a: {}, b: { const: 1 } } } },
    ['then.properties.a', 'then.properties.b'],
    { a: 1 },
  ],
];
const required: readonly Json[] = [
  { properties: AMOUNT, required: ['value', 'currency'] },
  { allOf: [{ properties: AMOUNT }, { required: ['value'] }], required: ['currency'] },
  { properties: AMOUNT, $ref: '#/$defs/a', $defs: { a: { required: ['value', 'currency'] } } },
  { properties: { a: {} }, oneOf: [{ required: ['a', 'b'] }, { allOf: [{ required: ['a'] }] }] },
  { required: ['a'], anyOf: [{ properties: { a: { const: 1 } } }] },
  {
    required: ['a'],
    properties: { a: { required: ['b'] } },
    anyOf: [{ properties: { a: { properties: { b: { const: 1 } } } } }],
  },
  { properties: { a: false } },
  { properties: { a: {} }, anyOf: [{ required: ['a'] }, false] },
  { if: { properties: { a: {} } }, else: {} },
  { not: { properties: { a: {} } }, propertyNames: { properties: { a: {} } } },
  true,
];

const untyped: readonly (readonly [schema: Json, gaps: readonly string[], passes: Json])[] = [
  [{ properties: { a: { maximum: 5 } } }, ['properties.a.maximum'], { a: '900' }],
  [{ properties: { a: { properties: AMOUNT } } }, ['properties.a.properties'], { a: '900 EUR' }],
  [{ properties: { a: { maxItems: 1, title: 'a' } } }, ['properties.a.maxItems'], { a: 'b,c' }],
  [{ items: { pattern: '^a$' } }, ['items.pattern'], [['b']]],
  [{ additionalProperties: { maximum: 5 } }, ['additionalProperties.maximum'], { a: '900' }],
  [
    { properties: { a: { $ref: '#/$defs/n' }, b: { $ref: '#/$defs/n' } }, $defs: { n: { maximum: 5 } } },
    ['$defs.n.maximum'],
    { a: '900' },
  ],
  [{ properties: { a: { maximum: 5, anyOf: [{ type: 'number' }, {}] } } }, ['properties.a.maximum'], { a: '900' }],
];
const typed: readonly Json[] = [
  { maximum: 5 },
  { properties: { a: { type: 'number', maximum: 5 }, b: { minimum: 1, const: 5 }, c: { maximum: 5, enum: [1] } } },
  { properties: { a: { maximum: 5, allOf: [{ type: 'number' }] } } },
  { properties: { a: { maximum: 5, $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } },
  { properties: { a: { maximum: 5, oneOf: [{ type: 'number' }, { const: null }, false] } } },
  { properties: { a: { type: 'number', anyOf: [{ maximum: 5 }, { minimum: 50 }] } } },
  { properties: { a: { type: 'number' } }, anyOf: [{ properties: { a: { maximum: 5 } } }] },
  {
    properties: { a: { $ref: '#/$defs/n' } },
    oneOf: [{ properties: { a: { maximum: 5 } } }],
    $defs: { n: { type: 'number' } },
  },
  { properties: { a: { not: { maximum: 5 } } }, propertyNames: { maxLength: 5 } },
];

describe('A gap of a schema', () => {
  const accepts = (schema: Json, value: Json) => expect(compileSchema(schema).decide(value)).to.equal('valid');
  for (const [schema, gaps, passes] of optional) {
    it(`is a member that a value may lack: ${JSON.stringify(schema)}`, () => {
      expect(named(gapsOf(schema).optional)).to.deep.equal(gaps);
      accepts(schema, passes);
    });
  }
  for (const [schema, gaps, passes] of untyped) {
    it(`is a keyword where no type is named: ${JSON.stringify(schema)}`, () => {
      expect(named(gapsOf(schema).untyped)).to.deep.equal(gaps);
      accepts(schema, passes);
    });
  }
  it('is no member that any schema around it requires', () => {
    for (const schema of required) expect(gapsOf(schema).optional, JSON.stringify(schema)).to.deep.equal([]);
  });
  it('is no keyword at the root, or whose type any schema around it names', () => {
    for (const schema of typed) expect(gapsOf(schema).untyped, JSON.stringify(schema)).to.deep.equal([]);
  });
  it('is found in time that grows with the number of schemas, however they lead to each other', () => {
    const levels = 40;
    const $defs = Object.fromEntries(
      Array.from({ length: levels }, (_, nth) => {
        const next = { $ref: `#/$defs/${nth + 1}` };
        return [String(nth), { anyOf: [next, { allOf: [next] }], oneOf: [next, next] }];
      }),
    );
    $defs[levels] = { type: 'object', required: ['a'], properties: { a: {}, b: {} } } as never;
    const schema = { properties: { c: { $ref: '#/$defs/0' } }, required: ['c'], $defs };
    expect(named(gapsOf(schema).optional)).to.deep.equal([`$defs.${levels}.properties.b`]);
  });
  it('is found once in a schema that applies itself to parts of a value', () => {
    const tree = { type: 'object', properties: { child: { $ref: '#' }, size: { maximum: 5 } } };
    expect(named(gapsOf(tree).optional)).to.deep.equal(['properties.child', 'properties.size']);
    expect(named(gapsOf(tree).untyped)).to.deep.equal(['properties.size.maximum']);
  });
});

describe('A keyword of a schema', () => {
  it('is idle if the type beside it leaves no value that it is about', () => {
    const idle = (schema: Json) => idleKeywords(schema).map(({ path, type }) => `${path.join('.')}: ${type}`);
    expect(idle({ type: 'object', maximum: 50 })).to.deep.equal(['maximum: object']);
    expect(
      idle({ properties: { a: { type: ['string', 'null'], minimum: 1, maxLength: 2, items: {} } } }),
    ).to.deep.equal(['properties.a.minimum: string or null', 'properties.a.items: string or null']);
    expect(
      idle({ type: ['integer', 'object'], maximum: 50, required: [], title: 'a', const: 5, not: {} }),
    ).to.deep.equal([]);
  });
});
