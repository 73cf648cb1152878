/** Which schemas can never be valid, and which are always valid. */

import { expect } from 'chai';
import { isAlwaysValid, isNeverValid } from '../../../../../adapters/sdk/tool-server/schema/verdict.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';

const never: readonly Json[] = [
  false,
  { not: {} },
  { not: true },
  { enum: [] },
  { type: 'number', minimum: 5, maximum: 4 },
  { type: 'integer', exclusiveMinimum: 5, maximum: 5 },
  { type: 'string', minLength: 2, maxLength: 1 },
  { type: 'array', minItems: 2, maxItems: 1 },
  { type: 'array', contains: {}, minContains: 2, maxContains: 1 },
  { type: 'integer', exclusiveMinimum: 5, exclusiveMaximum: 6 },
  { type: ['integer'], minimum: 0.2, maximum: 0.8 },
  { type: 'object', required: ['a', 'b'], maxProperties: 1 },
  { type: 'object', required: ['amuont'], properties: { amount: {} }, additionalProperties: false },
  { type: 'object', required: ['a'], properties: { a: false } },
  { type: 'object', required: ['a'], properties: { a: { type: 'string', enum: [1] } } },
  { type: 'string', const: 1 },
  { allOf: [{}, false] },
  { anyOf: [false, { enum: [] }] },
  { $ref: '#/$defs/a', $defs: { a: false } },
];
const neverAtTool: readonly Json[] = [{ type: 'string' }, { type: ['array', 'null'] }, { not: { type: 'object' } }];
const always: readonly Json[] = [
  true,
  {},
  { title: 'a' },
  { properties: { a: {} }, required: [] },
  { additionalProperties: true, minProperties: 0 },
  { not: false },
  { allOf: [{}, true] },
  { anyOf: [false, {}] },
];
const alwaysAtTool: readonly Json[] = [
  { type: 'object' },
  { type: ['object', 'null'], properties: {} },
  { type: 'object', maximum: 5 },
  { items: false, maxLength: 1 },
];
const neither: readonly Json[] = [
  { minimum: 5, maximum: 4 },
  { type: 'object', properties: { a: false } },
  { type: 'object', required: ['a'] },
  { type: 'object', properties: { a: { maximum: 1 } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
  { if: {}, then: false, else: false },
  { type: 'object', required: ['a'], properties: { a: { $ref: '#' } } },
  { minimum: 5, maximum: 5 },
  { type: ['integer', 'object'], minimum: 5, exclusiveMaximum: 6 },
  { type: ['integer', 'number', 'object'], exclusiveMinimum: 5, exclusiveMaximum: 6 },
  { type: 'object', required: ['a'], maxProperties: 1 },
  { type: 'object', required: ['a'], patternProperties: { a: {} }, additionalProperties: false },
  { oneOf: [{}, {}] },
];

describe('A schema', () => {
  for (const [given, isNever, isAlways, atTool] of [
    [never, true, false, true],
    [neverAtTool, false, false, true],
    [always, false, true, false],
    [alwaysAtTool, false, false, false],
    [neither, false, false, false],
  ] as const) {
    for (const schema of given) {
      it(`${JSON.stringify(schema)} can never be valid: ${isNever}, at a tool: ${atTool}; is always valid: ${isAlways}`, () => {
        expect([isNeverValid(schema), isAlwaysValid(schema), isNeverValid(schema, 'object')]).to.deep.equal([
          isNever,
          isAlways,
          atTool,
        ]);
      });
    }
  }

  it('has a verdict in time that grows with the number of schemas, however they lead to each other', () => {
    const chain = (link: (next: Json) => Json, last: Json): Json => {
      const levels = Array.from({ length: 60 }, (_, nth) => [String(nth), link({ $ref: `#/$defs/${nth + 1}` })]);
      return { $ref: '#/$defs/0', $defs: { ...Object.fromEntries(levels), 60: last } };
    };
    const both = (next: Json): Json => ({ allOf: [next, next] });
    const either = (next: Json): Json => ({ anyOf: [next, next] });
    const members = (next: Json): Json => ({ type: 'object', required: ['a', 'b'], properties: { a: next, b: next } });
    expect(isNeverValid(chain(either, { enum: [] }))).to.equal(true);
    expect(isNeverValid(chain(both, { type: 'string' }))).to.equal(false);
    expect(isNeverValid(chain(members, { type: 'string' }))).to.equal(false);
    expect(isNeverValid(chain(members, false))).to.equal(true);
    expect(isAlwaysValid(chain(both, {}))).to.equal(true);
    expect(isAlwaysValid(chain(either, { maximum: 5 }))).to.equal(false);
  });

  it('that is always valid at a tool covers every call', () => {
    for (const schema of [...always, ...alwaysAtTool]) expect(isAlwaysValid(schema, 'object')).to.equal(true);
  });
});
