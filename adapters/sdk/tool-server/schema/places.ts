/** The places of schemas within a schema of the guard's file, and which of them apply to one value. */

import { isJsonObject, type Json, member } from '../../../../domain/tokens/strict-json.ts';
import { isSchema, KEYWORDS } from './keywords.ts';
import type { Path } from './rules.ts';

interface Subschema {
  /** From the schema that holds it. */
  readonly path: Path;
  readonly schema: Json;
  readonly place: 'same' | 'part' | 'nowhere';
}

/** The schemas directly within a schema. What is no schema is left out. */
export function subschemas(schema: Json): readonly Subschema[] {
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([name, value = null]): readonly Subschema[] => {
    const { holds, place = 'nowhere' } = KEYWORDS.get(name) ?? {};
    const found: readonly (readonly [Path, Json])[] =
      holds === 'one'
        ? [[[name], value]]
        : holds === 'list' && Array.isArray(value)
          ? value.map((each: Json, at) => [[name, at], each] as const)
          : holds === 'named' && isJsonObject(value)
            ? Object.entries(value).map(([key, each = null]) => [[name, key], each] as const)
            : [];
    return found.filter(([, each]) => isSchema(each)).map(([path, each]) => ({ path, schema: each, place }));
  });
}

export interface PlacedSchema {
  /** From the root. */
  readonly path: Path;
  readonly schema: Json;
}

/** The schema, and all schemas within it. */
export function allSchemas(schema: Json, path: Path = []): readonly PlacedSchema[] {
  const within = subschemas(schema).flatMap((each) => allSchemas(each.schema, [...path, ...each.path]));
  return [{ path, schema }, ...within];
}

/** The schema that a `$ref` names by a JSON Pointer (RFC 6901 §6); `undefined` if it names none. */
export function referenced(root: Json, ref: string): Json | undefined {
  const pointer = pointerOf(ref);
  return pointer === undefined ? undefined : stepInto(root, pointer);
}

function stepInto(schema: Json, pointer: readonly string[]): Json | undefined {
  if (pointer.length === 0) return schema;
  const found = subschemas(schema).find(({ path }) => path.every((step, at) => String(step) === pointer[at]));
  return found && stepInto(found.schema, pointer.slice(found.path.length));
}

function pointerOf(ref: string): readonly string[] | undefined {
  if (!/^#(?:\/|$)/.test(ref)) return undefined;
  try {
    const steps = decodeURIComponent(ref).slice(1).split('/').slice(1);
    return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    return undefined;
  }
}

interface AppliedSchema extends Pick<Subschema, 'schema' | 'place'> {
  readonly keyword: string;
}

/** What a schema applies besides itself: the schemas within it that are no definitions, and that of its `$ref`. */
function applied(root: Json, schema: Json): readonly AppliedSchema[] {
  const ref = isJsonObject(schema) ? member(schema, '$ref') : undefined;
  const target = typeof ref === 'string' ? referenced(root, ref) : undefined;
  const direct = subschemas(schema)
    .filter(({ place }) => place !== 'nowhere')
    .map(({ path, ...each }) => ({ ...each, keyword: String(path[0]) }));
  return target === undefined ? direct : [...direct, { schema: target, place: 'same', keyword: '$ref' }];
}

/** Whether the schema applies itself to the same value again, so that a validation would not end. */
export function appliesItself(root: Json, schema: Json): boolean {
  const seen = new Set<Json>();
  const next = [schema];
  for (const one of next) {
    for (const { schema: other, place } of applied(root, one)) {
      if (place !== 'same' || !isJsonObject(other)) continue;
      if (other === schema) return true;
      if (!seen.has(other)) next.push(other);
      seen.add(other);
    }
  }
  return false;
}

/**
 * What a validation costs at most for each unit of the size of a value: a part, or a character of a text. Of the members under
 * `properties` each applies to another part. `Infinity` for a schema that applies itself to parts of a value.
 *
 * @param costOf what the keywords of a schema itself cost for a value of one unit
 */
export function weightOf(root: Json, costOf: (schema: Json) => number): number {
  const known = new Map<Json, number>();
  const weigh = (schema: Json, above: ReadonlySet<Json>): number => {
    if (!isJsonObject(schema)) return costOf(schema);
    if (above.has(schema)) return Number.POSITIVE_INFINITY;
    const found = known.get(schema);
    if (found !== undefined) return found;
    const within = new Set([...above, schema]);
    const weighed = applied(root, schema).map(({ schema: other, keyword }) => ({
      keyword,
      weight: weigh(other, within),
    }));
    const members = weighed.filter(({ keyword }) => keyword === 'properties').map(({ weight }) => weight);
    const others = weighed.filter(({ keyword }) => keyword !== 'properties').map(({ weight }) => weight);
    const weight = [Math.max(0, ...members), ...others].reduce((sum, each) => sum + each, costOf(schema));
    known.set(schema, weight);
    return weight;
  };
  return weigh(root, new Set());
}
