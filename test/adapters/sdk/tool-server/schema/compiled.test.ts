/** The verdict of a compiled schema: the refused part, its limits in time, and what validators commonly get wrong. */

import { expect } from 'chai';
import { compileSchema, LIMIT_MS } from '../../../../../adapters/sdk/tool-server/schema/compiled.ts';
import { refusedPart } from '../../../../../adapters/sdk/tool-server/schema/refused-part.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';

function answerOf(schema: Json, value: Json): string {
  const rules = compileSchema(schema);
  const verdict = rules.decide(value);
  if (typeof verdict === 'string') return verdict;
  return 'taken' in verdict
    ? `taken: ${verdict.taken.join('.')}`
    : `${refusedPart(verdict, rules.names).detail.unusable}`;
}

const many = <Item>(count: number, item: (at: number) => Item) => Array.from({ length: count }, (_, at) => item(at));
const UNKNOWN = 'a member that the rules do not know';
const price = { properties: { items: { items: { properties: { price: { maximum: 5 } } } } } };
const long = 'a'.repeat(60);
const byName = { patternProperties: { '^amount': { maximum: 5 } } };

const answers: readonly (readonly [what: string, schema: Json, value: Json, answer: string])[] = [
  ['a part deep inside', price, { items: [{ price: 5 }, { price: 6 }] }, 'The rule maximum refuses $.items[1].price.'],
  ['a missing member', { required: ['a b'] }, {}, 'The rules require $["a b"].'],
  ['a member that another requires', { dependentRequired: { a: ['b'] } }, { a: 1 }, 'The rules require $.b.'],
  ['the whole value', { type: 'object' }, [], 'The rule type refuses $.'],
  ['a member of the schema false', { properties: { a: false } }, { a: 1 }, 'The rules refuse $.a.'],
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
  ['a member that then requires', { if: true, then: { required: ['b'] } }, {}, 'The rules require $.b.'],
  [
    'a further member',
    { additionalProperties: false },
    { secret: 1 },
    `The rule additionalProperties refuses ${UNKNOWN}.`,
  ],
  ['a name', { propertyNames: { maxLength: 3 } }, { secret: 1 }, `The rule propertyNames refuses ${UNKNOWN}.`],
  [
    'a part of an unknown member',
    { additionalProperties: { items: { const: 1 } } },
    { secret: [2] },
    `The rule const refuses ${UNKNOWN}.`,
  ],
  [
    'a long path',
    { properties: { [long]: { properties: { [long]: false } } } },
    { [long]: { [long]: 1 } },
    `The rules refuse $.${long}.`,
  ],
  [
    'a missing member that every object inherits',
    { required: ['constructor'] },
    {},
    'The rules require $.constructor.',
  ],
  [
    'two texts of which one is a prototype',
    { items: { type: 'string' }, uniqueItems: true },
    ['__proto__', '__proto__'],
    'The rule uniqueItems refuses $.',
  ],
  [
    'a list without what it must contain, shorter than prefixItems',
    { prefixItems: [{ type: 'string' }], contains: { const: 1 } },
    [],
    'The rule contains refuses $.',
  ],
  [
    'the same by number',
    { prefixItems: [true, { minimum: 1 }], contains: { minimum: 1 }, minContains: 2, maxContains: 3 },
    [1],
    'The rule contains refuses $.',
  ],
  [
    'no list that contains it',
    { prefixItems: [{ type: 'string' }, { const: 1 }], contains: { const: 1 }, items: false },
    ['a', 1],
    'valid',
  ],
  ['no amount in cents', { multipleOf: 0.01 }, 19.99, 'valid'],
  ['an amount below a cent', { multipleOf: 0.01 }, 19.999, 'The rule multipleOf refuses $.'],
  ['no large multiple', { multipleOf: 1e-7 }, 1e300, 'valid'],
  ['a number as text', { properties: { a: { type: 'number' } } }, { a: '1' }, 'The rule type refuses $.a.'],
  [
    'every value by an empty enum',
    { $ref: '#/properties/a', properties: { a: { enum: [] } } },
    1,
    'The rule enum refuses $.',
  ],
  ['a value by an empty enum, also null', { enum: [] }, null, 'The rule enum refuses $.'],
  ['members that objects inherit, by const', { const: { toString: 1 } }, { toString: 2 }, 'The rule const refuses $.'],
  ['such members by enum', { enum: [{ valueOf: 1, a: 1 }] }, { valueOf: 1, a: 2 }, 'The rule enum refuses $.'],
  ['another constructor by const', { const: { a: 1 } }, { constructor: 1 }, 'The rule const refuses $.'],
  ['no object with the members in another order', { const: { a: [1], b: null } }, { b: null, a: [1] }, 'valid'],
  ['a list where an object is', { const: { 0: 1 } }, [1], 'The rule const refuses $.'],
  ['an object where a list is', { const: [1] }, { 0: 1 }, 'The rule const refuses $.'],
  ['an emoji of two code units as one character', { maxLength: 1 }, '\u{1f600}', 'valid'],
  ['text behind a line break', { pattern: '^a$' }, 'a\n', 'The rule pattern refuses $.'],
  ['a name that a pattern matches in another case', byName, { Amount: 1 }, 'taken: Amount'],
  [
    'such a name of upper case in the pattern',
    { patternProperties: { '^X-': { maximum: 5 } } },
    { 'x-a': 9 },
    'taken: x-a',
  ],
  [
    'such a name that a negated class matches',
    { patternProperties: { '^[^A-Z]+$': {} } },
    { Amount: 1 },
    'taken: Amount',
  ],
  ['such a name of wide letters', byName, { '\uff41mount': 1 }, 'taken: \uff41mount'],
  ['such a name that a NUL ends', { patternProperties: { '^amount$': {} } }, { 'amount\0': 1 }, 'taken: amount\0'],
  [
    'such a name deep inside',
    { properties: { a: { items: byName } } },
    { a: [{}, { amount: 1, AMOUNT: 1 }] },
    'taken: a.1.AMOUNT',
  ],
  ['such a name by a reference', { $ref: '#/$defs/x', $defs: { x: byName } }, { Amount: 1 }, 'taken: Amount'],
  ['such a name under not', { not: { ...byName, additionalProperties: false } }, { Amount: 1 }, 'taken: Amount'],
  ['such a name before a broken rule', { ...byName, required: ['to'] }, { Amount: 1, to: 1 }, 'taken: Amount'],
  [
    'no such name where the pattern does not apply',
    { properties: { a: byName } },
    { Amount: 1, a: { amount: 5 } },
    'valid',
  ],
  ['no such name that the schema has too', { ...byName, properties: { Amount: true } }, { Amount: 9 }, 'valid'],
  ['no name that the pattern matches', byName, { amount: 5, amountOfTax: 5, to: 'Amount' }, 'valid'],
];

describe('A compiled schema', () => {
  for (const [what, schema, value, answer] of answers) {
    it(`refuses ${what}: ${answer.slice(0, 60)}`, () => expect(answerOf(schema, value)).to.equal(answer));
  }

  const branches = {
    allOf: [
      { items: { $ref: '#' }, minItems: 1 },
      { items: { $ref: '#' }, maxItems: 1 },
    ],
  };
  const twice = (at: number) => ({ allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] });
  const doubled = Object.fromEntries(many(40, (at) => [`d${at}`, twice(at)]));
  // RE2 reads a text that repeats itself by states that it knows already.
  let seed = 1;
  const letter = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 2 === 0 ? 'a' : 'b';
  };
  const irregular = many(800_000, letter).join('');
  const slow: readonly (readonly [what: string, schema: Json, value: Json, next: string])[] = [
    [
      'that applies itself twice to each part',
      branches,
      many(30, () => 0).reduce<Json>((inner) => [inner], 2),
      'valid',
    ],
    ['whose definitions double', { $ref: '#/$defs/d0', $defs: { ...doubled, d40: true } }, 1, 'late'],
    ['with a pattern of many states', { pattern: '(?:a|b)*a(?:a|b){300}$' }, irregular, 'valid'],
  ];
  for (const [what, schema, value, next] of slow) {
    it(`${what} gives no verdict after ${LIMIT_MS} ms, and decides the next value`, () => {
      const rules = compileSchema(schema);
      expect([rules.decide(value), rules.decide(1)]).to.deep.equal(['late', next]);
    });
  }

  it('decides the same about a name that it has compared before, also after more names than it remembers', () => {
    const rules = compileSchema(byName);
    const isTaken = (name: string) => typeof rules.decide({ [name]: 1 }) === 'object';
    const long = `Amount${'s'.repeat(200)}`;
    const verdicts = () => ['Amount', 'amount', 'to', long].map(isTaken);
    expect([verdicts(), verdicts()]).to.deep.equal(Array(2).fill([true, false, false, true]));
    expect(many(1100, (at) => isTaken(`x${at}`)).includes(true)).to.equal(false);
    expect(many(1100, (at) => isTaken(`AMOUNT${at}`)).includes(false)).to.equal(false);
    expect(verdicts()).to.deep.equal([true, false, false, true]);
  });

  it('decides where the validators of the class Ajv2020 throw', () => {
    const object = { type: 'object' };
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
    const always = { if: true, then: object, else: { patternProperties: { '^a': { additionalProperties: true } } } };
    const schema = {
      ...always,
      patternProperties: { b: { minimum: 1 } },
      $ref: '#/$defs/x',
      $defs: { x: { oneOf: [object] } },
    };
    expect(answerOf(schema, { b: 1 })).to.equal('valid');
  });

  it('names an item of many', () => {
    const items = many(20_000, (at) => at);
    expect(answerOf({ items: { maximum: 19_999 } }, items)).to.equal('valid');
    expect(answerOf({ items: { maximum: 19_998 } }, items)).to.equal('The rule maximum refuses $[19999].');
  });
});
