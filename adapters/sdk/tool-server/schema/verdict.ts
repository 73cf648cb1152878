/**
 * Whether a schema can be valid at all, and whether it is always valid. Both answers are true only if that is certain: other
 * schemas can be as useless, in ways that this file does not see.
 */

import { isJsonObject, type Json, type JsonObject, listMember, member } from '../../../../domain/tokens/strict-json.ts';
import { TYPE_OF_KEYWORD } from './keywords.ts';
import { referenced } from './places.ts';

/** The bounds that exclude each other, and the type that they are about. */
const BOUNDS = [
  ['number', 'minimum', 'maximum', (least: number, most: number) => least > most],
  ['number', 'exclusiveMinimum', 'maximum', (least: number, most: number) => least >= most],
  ['number', 'minimum', 'exclusiveMaximum', (least: number, most: number) => least >= most],
  ['number', 'exclusiveMinimum', 'exclusiveMaximum', (least: number, most: number) => least >= most],
  ['string', 'minLength', 'maxLength', (least: number, most: number) => least > most],
  ['array', 'minContains', 'maxContains', (least: number, most: number) => least > most],
  ['array', 'minItems', 'maxItems', (least: number, most: number) => least > most],
  ['object', 'minProperties', 'maxProperties', (least: number, most: number) => least > most],
] as const;

/** Whether no whole number is within the bounds. */
function excludesIntegers(least: string, low: number, most: string, high: number): boolean {
  const first = least === 'minimum' ? Math.ceil(low) : Math.floor(low) + 1;
  const last = most === 'maximum' ? Math.floor(high) : Math.ceil(high) - 1;
  return first > last;
}

/** The first two bounds of the schema itself that exclude each other. */
export function excludedBounds(
  schema: Json,
): { readonly type: string; readonly least: string; readonly most: string } | undefined {
  if (!isJsonObject(schema)) return undefined;
  const types = [member(schema, 'type') ?? []].flat();
  const isOfIntegers = types.includes('integer') && !types.includes('number');
  const found = BOUNDS.find(([type, least, most, isExcluded]) => {
    const [low, high] = [member(schema, least), member(schema, most)];
    if (typeof low !== 'number' || typeof high !== 'number') return false;
    return isExcluded(low, high) || (isOfIntegers && type === 'number' && excludesIntegers(least, low, most, high));
  });
  return found && { type: found[0], least: found[1], most: found[2] };
}

interface Reading {
  readonly root: Json;
  /** The answers for schemas, by the question and the type. Many `$ref` can lead to one schema. */
  readonly known: Map<string, Map<Json, boolean>>;
}

/** Answers each question about a schema once. A schema that applies itself to parts of a value gets `false` within itself: not certain. */
function once({ known }: Reading, question: string, schema: JsonObject, answer: () => boolean): boolean {
  const answers = known.get(question) ?? new Map<Json, boolean>();
  known.set(question, answers);
  const found = answers.get(schema);
  if (found !== undefined) return found;
  answers.set(schema, false);
  const given = answer();
  answers.set(schema, given);
  return given;
}

/** @param type of the values that the schema is compared with; `undefined` for any */
export function isNeverValid(root: Json, type?: string): boolean {
  return never({ root, known: new Map() }, root, type);
}

function never(reading: Reading, schema: Json, type: string | undefined): boolean {
  if (!isJsonObject(schema)) return schema === false;
  return once(reading, `never ${type}`, schema, () => refusesAll(reading, schema, type));
}

function refusesAll(reading: Reading, schema: JsonObject, type: string | undefined): boolean {
  const { root } = reading;
  const types = typesOf(schema, type);
  const isNever = (other: Json | undefined) => other !== undefined && never(reading, other, type);
  const list = (name: string): readonly Json[] => listMember(schema, name);
  const target = member(schema, '$ref');
  const bounds = excludedBounds(schema);
  const values = [...(hasMember(schema, 'const') ? [member(schema, 'const') ?? null] : []), ...list('enum')];
  const isWithValues = hasMember(schema, 'const') || hasMember(schema, 'enum');
  return (
    types?.length === 0 ||
    (isWithValues && !values.some((value) => types === undefined || types.some((each) => isOfType(value, each)))) ||
    (bounds !== undefined && types?.every((each) => each === bounds.type) === true) ||
    (typeof target === 'string' && isNever(referenced(root, target))) ||
    list('allOf').some(isNever) ||
    ['anyOf', 'oneOf'].some((name) => list(name).length > 0 && list(name).every(isNever)) ||
    (hasMember(schema, 'not') && always(reading, member(schema, 'not') ?? null, type)) ||
    (types?.every((each) => each === 'object') === true && lacksMember(reading, schema))
  );
}

/** Whether the object may not have a member that it must have, or no value of that member is valid. */
function lacksMember(reading: Reading, schema: JsonObject): boolean {
  const required = listMember(schema, 'required');
  const most = member(schema, 'maxProperties');
  if (typeof most === 'number' && required.length > most) return true;
  const named = member(schema, 'properties');
  const others = hasMember(schema, 'patternProperties') ? undefined : member(schema, 'additionalProperties');
  return required.some((name) => {
    const value = (isJsonObject(named) && typeof name === 'string' ? member(named, name) : undefined) ?? others;
    return value !== undefined && never(reading, value, undefined);
  });
}

/** The types that the schema leaves, with `number` for `integer`; `undefined` for all. */
function typesOf(schema: JsonObject, type: string | undefined): readonly string[] | undefined {
  const written = member(schema, 'type');
  if (written === undefined) return type === undefined ? undefined : [type];
  const types = [written].flat().map((each) => (each === 'integer' ? 'number' : String(each)));
  return type === undefined ? types : types.filter((each) => each === type);
}

function isOfType(value: Json, type: string): boolean {
  if (value === null) return type === 'null';
  return type === (Array.isArray(value) ? 'array' : typeof value);
}

/** @param type of the values that the schema is compared with; `undefined` for any */
export function isAlwaysValid(root: Json, type?: string): boolean {
  return always({ root, known: new Map() }, root, type);
}

function always(reading: Reading, schema: Json, type: string | undefined): boolean {
  if (!isJsonObject(schema)) return schema === true;
  return once(reading, `always ${type}`, schema, () => acceptsAll(reading, schema, type));
}

function acceptsAll(reading: Reading, schema: JsonObject, type: string | undefined): boolean {
  const isAlways = (other: Json) => always(reading, other, type);
  const isAlwaysPart = (other: Json) => always(reading, other, undefined);
  return Object.entries(schema).every(([name, value = null]) => {
    if (type !== undefined && (TYPE_OF_KEYWORD.get(name) ?? type) !== type) return true;
    switch (name) {
      case '$schema':
      case '$defs':
      case '$comment':
      case 'title':
      case 'description':
      case 'default':
      case 'examples':
      case 'deprecated':
      case 'readOnly':
      case 'writeOnly':
        return true;
      case 'type':
        return type !== undefined && [value].flat().includes(type);
      case 'required':
        return listMember(schema, name).length === 0;
      case 'minProperties':
      case 'minItems':
      case 'minLength':
        return value === 0;
      case 'not':
        return never(reading, value, type);
      case 'allOf':
        return listMember(schema, name).every(isAlways);
      case 'anyOf':
        return listMember(schema, name).some(isAlways);
      case 'properties':
      case 'patternProperties':
        return isJsonObject(value) && Object.values(value).every((other) => isAlwaysPart(other ?? null));
      case 'additionalProperties':
      case 'items':
        return isAlwaysPart(value);
      case '$ref': {
        const target = typeof value === 'string' ? referenced(reading.root, value) : undefined;
        return target !== undefined && isAlways(target);
      }
      default:
        return false;
    }
  });
}

function hasMember(schema: JsonObject, name: string): boolean {
  return member(schema, name) !== undefined;
}
