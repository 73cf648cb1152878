/** The faults of a schema in the guard's file, with the path of each. */

import { expect } from 'chai';
import { schemaFaults } from '../../../../../adapters/sdk/tool-server/schema/faults.ts';
import { patternFaults } from '../../../../../adapters/sdk/tool-server/schema/patterns.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';

function faultsOf(schema: Json): readonly string[] {
  const faults = schemaFaults(schema);
  return [...faults, ...(faults.length > 0 ? [] : patternFaults(schema))].map(({ path }) => path.join('/'));
}

describe('A schema of the file', () => {
  const whole: Json = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'a',
    title: 'a',
    description: 'a',
    default: { format: 1 },
    examples: [{ maximun: 1 }],
    type: 'object',
    $defs: { amount: { type: 'number', multipleOf: 0.01, exclusiveMinimum: 0, maximum: 50 } },
    properties: {
      format: { const: { $id: 1 } },
      $ref: { enum: [{ maximun: 1 }, null] },
      __defineGetter__: true,
      amount: { $ref: '#/$defs/amount' },
      again: { $ref: '#/properties/amount' },
      tree: { type: 'array', items: { $ref: '#/properties/tree' } },
      'a/b~c%': {
        $ref: '#/properties/a~1b~0c%25/items',
        items: { type: ['string', 'null'], pattern: '^\\u00e9[^]*$' },
      },
      set: { uniqueItems: true, items: { type: ['string', 'integer'] } },
    },
    patternProperties: { '^x-': { minLength: 1 } },
    dependentRequired: { a: ['b'] },
    if: { required: ['a'] },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
    then: { minProperties: 2 },
    else: false,
    contains: true,
    minContains: 0,
    additionalProperties: false,
  };

  it('may have a character beyond U+FFFF in a pattern, and what only looks like half of it', () => {
    for (const pattern of ['^[^\u{1f600}]*$', '\\u{1F600}', '\\\\uD83D', '\\ud7ff', '\\\\k<n>']) {
      expect(faultsOf({ pattern }), pattern).to.deep.equal([]);
    }
  });

  it('may have every keyword that says which values are valid, and remarks', () => {
    for (const schema of [whole, true, false, {}]) expect(faultsOf(schema)).to.deep.equal([]);
  });

  const faulty: readonly (readonly [what: string, schema: Json, ...faults: string[]])[] = [
    ['an unknown keyword', { maximun: 1, properties: { a: { requird: [] } } }, 'maximun', 'properties/a/requird'],
    [
      'keywords of other drafts',
      { definitions: {}, dependencies: {}, additionalItems: {} },
      'definitions',
      'dependencies',
      'additionalItems',
    ],
    ['a keyword of OpenAPI', { nullable: true, discriminator: {} }, 'nullable', 'discriminator'],
    ['another $schema', { $schema: 'http://json-schema.org/draft-07/schema#' }, '$schema'],
    ['$schema inside', { not: { $schema: 'https://json-schema.org/draft/2020-12/schema' } }, 'not/$schema'],
    [
      'other resources',
      { $id: 'a', $anchor: 'a', $dynamicRef: '#a', $dynamicAnchor: 'a' },
      '$id',
      '$anchor',
      '$dynamicRef',
      '$dynamicAnchor',
    ],
    [
      'what ajv lets pass: unevaluatedProperties a constructor, unevaluatedItems what is beside contains',
      { unevaluatedProperties: false, items: { unevaluatedItems: false } },
      'unevaluatedProperties',
      'items/unevaluatedItems',
    ],
    ['format', { properties: { a: { format: 'email' } } }, 'properties/a/format'],
    ['a $ref out of it', { $ref: 'https://a.example/schema' }, '$ref'],
    ['a $ref to nowhere', { items: { $ref: '#/$defs/a' } }, 'items/$ref'],
    ['a $ref to what is no schema', { $ref: '#/properties', properties: {} }, '$ref'],
    ['a $ref to the same value', { $ref: '#' }, '$ref'],
    [
      'such a $ref by a detour',
      { anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { not: { $ref: '#' } } } },
      'anyOf/0/$ref',
      '$defs/a/not/$ref',
    ],
    ['uniqueItems over objects', { uniqueItems: true, items: { type: 'object' } }, 'uniqueItems'],
    ['uniqueItems over anything', { items: { uniqueItems: true } }, 'items/uniqueItems'],
    ['uniqueItems over more', { uniqueItems: true, items: { type: 'string' }, prefixItems: [true] }, 'uniqueItems'],
    [
      'values of another form',
      { type: 'decimal', minimum: '1', maxLength: -1, required: 'a', enum: {} },
      'type',
      'minimum',
      'maxLength',
      'required',
      'enum',
    ],
    ['what is no schema', { items: [{}], not: 1, properties: [], anyOf: [] }, 'items', 'not', 'properties', 'anyOf'],
    ['names twice', { required: ['a', 'a'] }, 'required'],
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
    ['keywords without effect', { then: true, else: true, minContains: 1 }, 'then', 'else', 'minContains'],
    ['__proto__', JSON.parse('{"properties": {"__proto__": {}}, "required": ["__proto__"]}'), 'properties', 'required'],
    [
      'patterns that need more than linear time',
      { pattern: '(?=a)b', patternProperties: { '(a)\\1': {} } },
      'pattern',
      'patternProperties/(a)\\1',
    ],
    [
      'back references by name, which RE2JS takes for text',
      { pattern: '(?<n>a)\\k<n>', patternProperties: { '(?<n>a)\\\\\\k<n>': {} } },
      'pattern',
      'patternProperties/(?<n>a)\\\\\\k<n>',
    ],
    [
      'halves of a surrogate pair, which RE2 takes for two characters',
      { pattern: '^[^\\uD83D\\uDE00]*$', items: { pattern: '\\udbff' } },
      'pattern',
      'items/pattern',
    ],
    [
      'patterns of RE2 alone, and of neither',
      { items: { pattern: '(?i)a' }, not: { pattern: '[' } },
      'items/pattern',
      'not/pattern',
    ],
  ];
  for (const [what, schema, ...faults] of faulty) {
    it(`may not have ${what}`, () => expect(faultsOf(schema)).to.deep.equal(faults));
  }

  for (const schema of [null, 1, 'a', []]) {
    it(`may not be ${JSON.stringify(schema)}`, () => expect(faultsOf(schema)).to.deep.equal(['']));
  }
});
