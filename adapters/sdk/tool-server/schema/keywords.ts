/**
 * The keywords that a schema in the guard's file may have: those of JSON Schema 2020-12 that say which values are valid, and
 * remarks. Each has the form of its value, and where a schema in it applies.
 */

import { isJsonObject, isTextList, type Json } from '../../../../domain/tokens/strict-json.ts';

/** Where a schema applies: to the same value, to a part of it, or only where a `$ref` names it. */
type Place = 'same' | 'part' | 'nowhere';

interface Keyword {
  /** Follows the word "must". */
  readonly accepted: string;
  isAccepted(value: Json): boolean;
  readonly place?: Place;
  /** How the value has schemas: it is one, a list of them, or a mapping of names. */
  readonly holds?: 'one' | 'list' | 'named';
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isNumber = (value: Json): value is number => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: Json): boolean => isNumber(value) && Number.isSafeInteger(value) && value >= 0;
const isNames = (value: Json | undefined): boolean => isTextList(value) && new Set(value).size === value.length;
export const isSchema = (value: Json | undefined): boolean => typeof value === 'boolean' || isJsonObject(value);

const TYPES: readonly Json[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const isTypes = (value: Json): boolean =>
  isList(value)
    ? value.length > 0 && isNames(value) && value.every((type) => TYPES.includes(type))
    : TYPES.includes(value);

const keyword = (accepted: string, isAccepted: (value: Json) => boolean): Keyword => ({ accepted, isAccepted });
const one = (place: Place): Keyword => ({
  ...keyword('be a schema: a mapping, true or false', isSchema),
  holds: 'one',
  place,
});
const several = (place: Place): Keyword => ({
  ...keyword('be a list of at least one schema', (value) => isList(value) && value.length > 0 && value.every(isSchema)),
  holds: 'list',
  place,
});
const named = (place: Place): Keyword => ({
  ...keyword(
    'be a mapping of names to schemas',
    (value) => isJsonObject(value) && Object.values(value).every(isSchema),
  ),
  holds: 'named',
  place,
});

const anything = keyword('be a value', () => true);
const text = keyword('be a text', (value) => typeof value === 'string');
const flag = keyword('be true or false', (value) => typeof value === 'boolean');
const number = keyword('be a number', isNumber);
const count = keyword('be a whole number of 0 or more', isCount);
const names = keyword('be a list of different texts', isNames);

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['$schema', keyword(`be ${DIALECT}`, (value) => value === DIALECT || value === `${DIALECT}#`)],
  ['$ref', keyword('be #, or # and a path such as #/$defs/amount', (value) => typeof value === 'string')],
  ['$defs', named('nowhere')],
  ['$comment', text],
  ['title', text],
  ['description', text],
  ['default', anything],
  ['examples', keyword('be a list', isList)],
  ['deprecated', flag],
  ['readOnly', flag],
  ['writeOnly', flag],
  ['type', keyword(`be one or several of ${TYPES.join(', ')}`, isTypes)],
  ['enum', keyword('be a list', isList)],
  ['const', anything],
  ['multipleOf', keyword('be a number above 0', (value) => isNumber(value) && value > 0)],
  ['minimum', number],
  ['maximum', number],
  ['exclusiveMinimum', number],
  ['exclusiveMaximum', number],
  ['minLength', count],
  ['maxLength', count],
  ['pattern', text],
  ['minItems', count],
  ['maxItems', count],
  ['uniqueItems', flag],
  ['minContains', count],
  ['maxContains', count],
  ['minProperties', count],
  ['maxProperties', count],
  ['required', names],
  [
    'dependentRequired',
    keyword(
      'be a mapping of names to lists of names',
      (value) => isJsonObject(value) && Object.values(value).every(isNames),
    ),
  ],
  ['allOf', several('same')],
  ['anyOf', several('same')],
  ['oneOf', several('same')],
  ['not', one('same')],
  ['if', one('same')],
  ['then', one('same')],
  ['else', one('same')],
  ['dependentSchemas', named('same')],
  ['properties', named('part')],
  ['patternProperties', named('part')],
  ['additionalProperties', one('part')],
  ['propertyNames', one('part')],
  ['prefixItems', several('part')],
  ['items', one('part')],
  ['contains', one('part')],
]);

/** The type of the values that a keyword is about. It refuses no value of another type. */
export const TYPE_OF_KEYWORD: ReadonlyMap<string, string> = new Map(
  Object.entries({
    number: ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
    string: ['minLength', 'maxLength', 'pattern'],
    array: ['minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains', 'prefixItems', 'items', 'contains'],
    object: [
      ...['minProperties', 'maxProperties', 'required', 'dependentRequired', 'dependentSchemas'],
      ...['properties', 'patternProperties', 'additionalProperties', 'propertyNames'],
    ],
  }).flatMap(([type, keywords]) => keywords.map((each) => [each, type] as const)),
);

const REMARK = 'must be absent: in JSON Schema 2020-12 it is a remark, and refuses nothing';
const UNEVALUATED = 'must be absent: validators differ about what is left';
const ONE_SCHEMA = 'must be absent: each schema of this file is read by itself';

/** Keywords that a schema of this file may not have, with the reason. */
export const REFUSED: ReadonlyMap<string, string> = new Map([
  ['format', `${REMARK}. A pattern refuses`],
  ['contentEncoding', REMARK],
  ['contentMediaType', REMARK],
  ['contentSchema', REMARK],
  ['unevaluatedProperties', `${UNEVALUATED}. additionalProperties refuses too`],
  ['unevaluatedItems', `${UNEVALUATED}. items refuses too`],
  ['$id', ONE_SCHEMA],
  ['$anchor', `${ONE_SCHEMA}, and $ref has a path`],
  ['$dynamicRef', ONE_SCHEMA],
  ['$dynamicAnchor', ONE_SCHEMA],
  ['$vocabulary', ONE_SCHEMA],
  ['definitions', 'must be $defs since JSON Schema 2019-09'],
  ['dependencies', 'must be dependentRequired or dependentSchemas since JSON Schema 2019-09'],
  ['additionalItems', 'must be items since JSON Schema 2020-12'],
]);

/** Keywords that mean nothing without another one. */
export const COMPANIONS: ReadonlyMap<string, string> = new Map([
  ['then', 'if'],
  ['else', 'if'],
  ['minContains', 'contains'],
  ['maxContains', 'contains'],
]);
