/**
 * Compiles a schema with ajv, and its patterns with RE2JS (patterns.ts, docs/decisions/0038-schemas-in-the-guards-file.md).
 * A validation that could take long runs under a time limit. The estimate of its time comes from the weight of the schema and the
 * size of the value.
 */

import { createContext, Script } from 'node:vm';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import core from 'ajv/dist/core.js';
import contains from 'ajv/dist/vocabularies/applicator/contains.js';
import draft2020 from 'ajv/dist/vocabularies/draft2020.js';
import {
  isJsonObject,
  isObject,
  isTextList,
  type Json,
  type JsonObject,
  member,
} from '../../../../domain/tokens/strict-json.ts';
import { isMultiple } from './decimal.ts';
import { compilePattern, patternsOf, takenForMatch } from './patterns.ts';
import { allSchemas, weightOf } from './places.ts';
import type { BrokenRule, Path, SchemaRules } from './rules.ts';
import { isSameValue } from './same-value.ts';

/** The time limit of a validation, in milliseconds. */
export const LIMIT_MS = 100;
/** A validation with a higher estimate runs under the limit, which takes some 0.1 ms by itself. In nanoseconds. */
const MAX_UNLIMITED = 20_000_000;
/** The most that a keyword takes for a part of a value, or an instruction of a pattern for a character; in nanoseconds. */
const KEYWORD_COST = 250;
const INSTRUCTION_COST = 40;
/** A name is compared with a pattern by the rule itself, and as other readers take it (`takenForMatch`). */
const NAME_MATCHES = 4;

/** @param root a schema without faults */
export function compileSchema(root: Json): SchemaRules {
  const nanoseconds = weightOf(root, costOf);
  const names = new Set(allSchemas(root).flatMap(({ schema }) => namesIn(schema)));
  /** The pointer of the object, and the name in it. */
  let taken: readonly [pointer: string, name: string] | undefined;
  const compile = () =>
    validator(root, names, (...found) => {
      taken ??= found;
    });
  let validate = compile();
  const hasPatterns = allSchemas(root).some(({ schema }) => patternsOf(schema).length > 0);
  return {
    names,
    decide(value) {
      taken = undefined;
      const run = () => validate(value);
      const isValid = nanoseconds * sizeOf(value) <= MAX_UNLIMITED ? run() : withinLimit(run);
      if (isValid === undefined) {
        // A pattern that was stopped may have left its tables half written.
        if (hasPatterns) validate = compile();
        return 'late';
      }
      if (taken !== undefined) return { taken: [...pathInto(value, taken[0]), taken[1]] };
      return isValid ? 'valid' : brokenRule(value, validate.errors ?? []);
    },
  };
}

/** Beside each `patternProperties` of the compiled schema. The file cannot have it. */
const TAKEN_FOR_MATCH = 'takenForMatch';

/**
 * The schema with `TAKEN_FOR_MATCH`. Where a schema applies depends on the value, so the validation itself looks at the names: those of
 * a part to which no pattern applies are free.
 */
function withTakenNames(root: Json): JsonObject | boolean {
  const copy = structuredClone(root) as JsonObject | boolean;
  for (const { schema } of allSchemas(copy)) {
    const byPattern = isJsonObject(schema) ? member(schema, 'patternProperties') : undefined;
    if (isJsonObject(byPattern)) Object.assign(schema as object, { [TAKEN_FOR_MATCH]: Object.keys(byPattern) });
  }
  return copy;
}

/**
 * @param names of the schema: no reader takes them for others
 * @param onTaken gets the pointer of an object and the name of its member, for each `TakenName`
 */
function validator(
  root: Json,
  names: ReadonlySet<string>,
  onTaken: (pointer: string, name: string) => void,
): ValidateFunction {
  // Its class Ajv2020 counts what is evaluated, for keywords that no schema of the file has. Some of its validators then throw.
  const ajv = new core.default({
    next: true,
    // schemaFaults has checked the schema.
    validateSchema: false,
    meta: false,
    strict: false,
    logger: false,
    // A member such as `constructor` that only the prototype has is no member of the value.
    ownProperties: true,
    code: { regExp: Object.assign((text: string) => compilePattern(text), { code: 'unused' }) },
  });
  for (const vocabulary of draft2020.default) ajv.addVocabulary(vocabulary);
  // Behind prefixItems ajv leaves it out for a list that is shorter than prefixItems.
  ajv.removeKeyword('contains');
  ajv.addKeyword({ ...contains.default, before: 'prefixItems' });
  // Ajv's own compares the doubles: 19.99 would be no multiple of 0.01. The other takes two texts "__proto__" for one.
  ajv.removeKeyword('multipleOf');
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    validate: (of: number, value: number) => isMultiple(value, of),
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', validate: isUnique });
  // Ajv's own call the members `toString` and `valueOf` of a value.
  ajv.removeKeyword('const');
  ajv.addKeyword({ keyword: 'const', validate: isSameValue });
  ajv.removeKeyword('enum');
  ajv.addKeyword({
    keyword: 'enum',
    validate: (values: readonly Json[], value: Json) => values.some((each) => isSameValue(each, value)),
  });
  ajv.addKeyword({
    keyword: TAKEN_FOR_MATCH,
    type: 'object',
    // It precedes additionalProperties too, which refuses a name that no pattern matches: a schema under `not` is valid then.
    before: 'propertyNames',
    compile(patterns: readonly string[]) {
      const isTaken = takenForMatch(patterns);
      return (value: object, place) => {
        const name = Object.keys(value).find((each) => !names.has(each) && isTaken(each));
        if (name !== undefined) onTaken(place?.instancePath ?? '', name);
        return true;
      };
    },
  });
  return ajv.compile(withTakenNames(root));
}

/** All items are single values: otherwise the schema is not valid anyway (`schemaFaults`). */
function isUnique(isNeeded: boolean, items: readonly Json[]): boolean {
  return !isNeeded || new Set(items).size === items.length;
}

function namesIn(schema: Json): readonly string[] {
  if (!isJsonObject(schema)) return [];
  const [required = null, byName = null] = [member(schema, 'required'), member(schema, 'dependentRequired')];
  const mappings = [member(schema, 'properties'), member(schema, 'dependentSchemas'), byName];
  const lists = [required, ...(isJsonObject(byName) ? Object.values(byName) : [])];
  return [
    ...mappings.flatMap((mapping) => (isJsonObject(mapping) ? Object.keys(mapping) : [])),
    ...lists.flatMap((list) => (isTextList(list) ? list : [])),
  ];
}

/** In nanoseconds, for a value of one unit. */
function costOf(schema: Json): number {
  const values = isJsonObject(schema) ? schema : {};
  const listed = Object.entries(values).reduce((sum, [name, value = null]) => sum + 1 + countOf(name, value), 1);
  const instructions = patternsOf(schema).reduce(
    (sum, { text, at }) => sum + compilePattern(text).programSize() * (at.length > 1 ? NAME_MATCHES : 1),
    0,
  );
  return listed * KEYWORD_COST + instructions * INSTRUCTION_COST;
}

/** How many values or names are compared with a value. */
function countOf(keyword: string, value: Json): number {
  if (keyword === 'const' || keyword === 'enum') return sizeOf(value);
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

/** Its parts, and the characters of its texts and names. */
function sizeOf(value: Json): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item), 1);
  return Object.entries(value).reduce((sum, [name, part = null]) => sum + name.length + sizeOf(part), 1);
}

const context = createContext({ run: undefined });
const script = new Script('run()');

/** @returns `undefined` if the time was up */
function withinLimit(run: () => boolean): boolean | undefined {
  context.run = run;
  try {
    return script.runInContext(context, { timeout: LIMIT_MS });
  } catch (error) {
    // The context has another class Error.
    if (isObject(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    context.run = undefined;
  }
}

/** The last error is that of the whole schema. One of `if` says no more than the errors before it, of `then` or `else`. */
function brokenRule(value: Json, errors: readonly ErrorObject[]): BrokenRule {
  const last = errors.findLast(({ keyword }) => keyword !== 'if') ?? errors.at(-1);
  if (last === undefined) return { keyword: '', path: [] };
  const { keyword, instancePath, params } = last;
  const path = pathInto(value, instancePath);
  const named = PARAMS.map((name) => params[name]).find((name) => typeof name === 'string');
  return { keyword, path: named === undefined ? path : [...path, named] };
}

/** In these ajv gives the name of the member that an error is about. */
const PARAMS = ['missingProperty', 'additionalProperty', 'propertyName'] as const;

/** @param pointer of a part of the value (RFC 6901) */
function pathInto(value: Json, pointer: string): Path {
  let part: unknown = value;
  return pointer
    .split('/')
    .slice(1)
    .map((step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      const at = Array.isArray(part) ? Number(name) : name;
      part = Reflect.get(Object(part), at);
      return at;
    });
}
