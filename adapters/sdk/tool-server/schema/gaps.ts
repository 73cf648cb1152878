/**
 * Gaps of a schema: where it lets values pass that its author may have meant to refuse. A keyword such as `maximum` refuses no value
 * of another type, and `properties` refuses no value that lacks a member.
 */

import { isJsonObject, type Json, type JsonObject, listMember, member } from '../../../../domain/tokens/strict-json.ts';
import { TYPE_OF_KEYWORD } from './keywords.ts';
import { allSchemas, referenced, subschemas } from './places.ts';
import type { Path } from './rules.ts';

export interface Gaps {
  /** The members under `properties` that a valid value may lack. */
  readonly optional: readonly Path[];
  /** For each part whose type no schema names: the first keyword that refuses nothing of another type. The root is left out. */
  readonly untyped: readonly Path[];
}

/** @param root a schema without faults */
export function gapsOf(root: Json): Gaps {
  const paths = new Map(allSchemas(root).map(({ path, schema }) => [schema, path]));
  const optional: Path[] = [];
  const untyped: Path[] = [];
  const seen = new Set<Json>([root]);
  const { joined, requiredBy, namesType } = readerOf(root);

  /** @param schemas that all apply to one value @param around those that apply to it too, and are walked elsewhere */
  const walk = (schemas: readonly JsonObject[], around: readonly JsonObject[], isRoot: boolean): void => {
    const walked = schemas.flatMap(joined);
    const all = [...around, ...walked];
    const required = new Set(all.flatMap((schema) => [...requiredBy(schema)]));
    for (const schema of walked) {
      const path = paths.get(schema) ?? [];
      const properties = member(schema, 'properties');
      for (const [name, part] of isJsonObject(properties) ? Object.entries(properties) : []) {
        const isForbidden = part === false;
        if (!required.has(name) && !isForbidden) optional.push([...path, 'properties', name]);
      }
    }
    const limits = walked.flatMap((schema) => {
      const name = Object.keys(schema).find((each) => TYPE_OF_KEYWORD.has(each));
      return name === undefined ? [] : [[...(paths.get(schema) ?? []), name]];
    });
    if (!isRoot && !all.some(namesType)) untyped.push(...limits.slice(0, 1));
    for (const branch of walked.flatMap(branchesOf)) enter([branch], all, isRoot);
    const partsAround = partsOf(around);
    for (const [at, part] of partsOf(walked)) enter(part, (partsAround.get(at) ?? []).flatMap(joined), false);
  };
  /** A schema that applies itself to parts of a value is walked once. */
  const enter = (schemas: readonly JsonObject[], around: readonly JsonObject[], isRoot: boolean): void => {
    const unseen = schemas.filter((schema) => !seen.has(schema));
    for (const schema of unseen) seen.add(schema);
    if (unseen.length > 0) walk(unseen, around, isRoot);
  };

  if (isJsonObject(root)) walk([root], [], true);
  return { optional: onceEach(optional), untyped: onceEach(untyped) };
}

/** Several `$ref` can lead to one schema. */
function onceEach(paths: readonly Path[]): readonly Path[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()];
}

/** The keywords that refuse nothing, because the `type` beside them leaves no value that they are about. */
export function idleKeywords(root: Json): readonly { readonly path: Path; readonly type: string }[] {
  return allSchemas(root).flatMap(({ path, schema }) => {
    const type = isJsonObject(schema) ? member(schema, 'type') : undefined;
    if (!isJsonObject(schema) || type === undefined) return [];
    const types = [type].flat().map((each) => (each === 'integer' ? 'number' : String(each)));
    const idle = Object.keys(schema).filter((name) => {
      const about = TYPE_OF_KEYWORD.get(name);
      return about !== undefined && !types.includes(about);
    });
    return idle.map((name) => ({ path: [...path, name], type: [type].flat().join(' or ') }));
  });
}

interface Reader {
  /** The schema, and those that apply wherever it does: under `allOf`, and behind `$ref`. */
  joined(schema: JsonObject): readonly JsonObject[];
  /** The names that the schema requires, or each schema of its `anyOf` or `oneOf`. */
  requiredBy(schema: JsonObject): ReadonlySet<string>;
  /** Whether the schema names the type of its values, or each schema of its `anyOf` or `oneOf` does. */
  namesType(schema: JsonObject): boolean;
}

function readerOf(root: Json): Reader {
  const othersOf = onceForEach((schema) => {
    const ref = member(schema, '$ref');
    const others = [...listMember(schema, 'allOf'), typeof ref === 'string' ? referenced(root, ref) : undefined];
    return others.filter(isJsonObject);
  });
  const joined = (schema: JsonObject) => {
    const found = new Set([schema]);
    for (const one of found) for (const other of othersOf(one)) found.add(other);
    return [...found];
  };
  const requiredBy: Reader['requiredBy'] = onceForEach((schema) => {
    const ofBranch = (branch: Json) =>
      new Set(isJsonObject(branch) ? joined(branch).flatMap((one) => [...requiredBy(one)]) : []);
    const ofBranches = CHOICES.flatMap((name) => {
      const possible = listMember(schema, name).filter((branch) => branch !== false);
      const [first, ...others] = possible.map(ofBranch);
      return [...(first ?? [])].filter((each) => others.every((other) => other.has(each)));
    });
    return new Set([...listMember(schema, 'required').map(String), ...ofBranches]);
  });
  const namesType: Reader['namesType'] = onceForEach((schema) => {
    const isNamed = (branch: Json) => branch === false || (isJsonObject(branch) && joined(branch).some(namesType));
    const isChoice = (branches: readonly Json[]) => branches.length > 0 && branches.every(isNamed);
    return (
      ['type', 'const', 'enum'].some((name) => member(schema, name) !== undefined) ||
      CHOICES.some((name) => isChoice(listMember(schema, name)))
    );
  });
  return { joined, requiredBy, namesType };
}

const CHOICES = ['anyOf', 'oneOf'] as const;

/** Computes a value once: many `$ref` can lead to one schema. */
function onceForEach<Value>(compute: (schema: JsonObject) => Value): (schema: JsonObject) => Value {
  const known = new Map<JsonObject, Value>();
  return (schema) => {
    const found = known.get(schema) ?? compute(schema);
    known.set(schema, found);
    return found;
  };
}

/** `allOf` applies wherever its schema does. A value that `not` or `if` describes need not be valid. */
const NO_BRANCHES: ReadonlySet<unknown> = new Set(['allOf', 'not', 'if']);

/** Each applies to the same value, but not to every one. */
function branchesOf(schema: JsonObject): readonly JsonObject[] {
  const branches = subschemas(schema).filter(({ path, place }) => place === 'same' && !NO_BRANCHES.has(path[0]));
  return branches.map((branch) => branch.schema).filter(isJsonObject);
}

/** The schemas of parts of a value, by the part. Names are no parts: each is a text. */
function partsOf(schemas: readonly JsonObject[]): ReadonlyMap<string, readonly JsonObject[]> {
  const parts = new Map<string, JsonObject[]>();
  for (const { path, schema, place } of schemas.flatMap(subschemas)) {
    if (place !== 'part' || path[0] === 'propertyNames' || !isJsonObject(schema)) continue;
    const part = JSON.stringify(path);
    parts.set(part, [...(parts.get(part) ?? []), schema]);
  }
  return parts;
}
