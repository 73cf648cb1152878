/** The faults of a schema in the guard's file: what no validator knows, what validators differ about, and what may take long. */

import { isJsonObject, type Json, type JsonObject, member } from '../../../../domain/tokens/strict-json.ts';
import { COMPANIONS, isSchema, KEYWORDS, REFUSED } from './keywords.ts';
import { allSchemas, appliesItself, referenced } from './places.ts';
import type { Path } from './rules.ts';

export interface SchemaFault {
  /** From the root of the schema. */
  readonly path: Path;
  /** Follows the name of the path. */
  readonly problem: string;
}

/** All faults but those of patterns: `patternFaults` of patterns.ts has them. */
export function schemaFaults(root: Json): readonly SchemaFault[] {
  if (!isSchema(root)) return [{ path: [], problem: 'must be a schema: a mapping, true or false' }];
  return allSchemas(root).flatMap(({ path, schema }) => {
    if (!isJsonObject(schema)) return [];
    const own = [
      ...Object.entries(schema).flatMap(([name, value = null]) => keywordFaults(name, value, path.length === 0)),
      ...refFaults(root, schema),
      ...uniqueFaults(schema),
      ...companionFaults(schema),
      ...protoFaults(schema),
    ];
    return own.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
  });
}

function keywordFaults(name: string, value: Json, isRoot: boolean): readonly SchemaFault[] {
  const refused = REFUSED.get(name);
  if (refused !== undefined) return [{ path: [name], problem: refused }];
  const known = KEYWORDS.get(name);
  if (known === undefined) return [{ path: [name], problem: 'is no keyword of JSON Schema 2020-12' }];
  if (name === '$schema' && !isRoot) return [{ path: [name], problem: 'must be absent within a schema' }];
  return known.isAccepted(value) ? [] : [{ path: [name], problem: `must ${known.accepted}` }];
}

function refFaults(root: Json, schema: JsonObject): readonly SchemaFault[] {
  const ref = member(schema, '$ref');
  if (typeof ref !== 'string') return [];
  if (referenced(root, ref) === undefined) {
    return [{ path: ['$ref'], problem: 'must name a schema within this one, as #/$defs/amount' }];
  }
  if (!appliesItself(root, schema)) return [];
  return [{ path: ['$ref'], problem: 'leads back to the same value: the validation would not end' }];
}

const SINGLE: readonly Json[] = ['boolean', 'integer', 'null', 'number', 'string'];

/** Comparing objects and lists with one another takes the square of their number. */
function uniqueFaults(schema: JsonObject): readonly SchemaFault[] {
  if (member(schema, 'uniqueItems') !== true) return [];
  const items = member(schema, 'items');
  const type = isJsonObject(items) ? member(items, 'type') : undefined;
  const types = [type ?? null].flat();
  const isSingle = types.every((each) => SINGLE.includes(each)) && member(schema, 'prefixItems') === undefined;
  return isSingle ? [] : [{ path: ['uniqueItems'], problem: `needs items with a type of ${SINGLE.join(', ')}` }];
}

function companionFaults(schema: JsonObject): readonly SchemaFault[] {
  const lonely = Object.keys(schema).filter((name) => {
    const companion = COMPANIONS.get(name);
    return companion !== undefined && member(schema, companion) === undefined;
  });
  return lonely.map((name) => ({ path: [name], problem: `has no effect without ${COMPANIONS.get(name)}` }));
}

/** Calls with this member are refused, because parsers differ about it. */
function protoFaults(schema: JsonObject): readonly SchemaFault[] {
  const named = ['properties', 'patternProperties', 'dependentSchemas', 'dependentRequired'].filter((name) => {
    const value = member(schema, name);
    return isJsonObject(value) && Object.hasOwn(value, '__proto__');
  });
  const required = member(schema, 'required');
  const isRequired = Array.isArray(required) && required.includes('__proto__');
  return [...named, ...(isRequired ? ['required'] : [])].map((name) => ({
    path: [name],
    problem: 'must not name __proto__: no call with this member passes',
  }));
}
