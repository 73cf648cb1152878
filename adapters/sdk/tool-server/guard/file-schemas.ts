/** The schemas in the guard's file, and remarks on those that let more or less pass than their author may mean. */

import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, type JsonObject, member, textMember } from '../../../../domain/tokens/strict-json.ts';
import type { SchemaFault } from '../schema/faults.ts';
import { gapsOf, idleKeywords } from '../schema/gaps.ts';
import { allSchemas } from '../schema/places.ts';
import { excludedBounds, isAlwaysValid, isNeverValid } from '../schema/verdict.ts';
import { filePolicies } from './file-policies.ts';
import { nameOf, type Path } from './kind.ts';

interface FileSchema {
  readonly path: Path;
  readonly schema: Json;
  readonly member: 'unless' | 'arguments';
  /** The type of the values that it is compared with, if that is certain. */
  readonly type: 'object' | undefined;
  /** Of the route that it belongs to. */
  readonly match: string | undefined;
}

/** In the order of the file's sections. */
export function fileSchemas(mapping: Pick<PlacedMapping, 'fields'>): readonly FileSchema[] {
  return filePolicies(mapping).flatMap(({ of, path, policy }) => {
    const approval = member(policy, 'approval');
    const type = of === 'tool' ? 'object' : undefined;
    const found = (holder: JsonObject, name: FileSchema['member'], place: Path): readonly FileSchema[] => {
      const schema = member(holder, name);
      return schema === undefined
        ? []
        : [{ path: [...place, name], schema, member: name, type, match: textMember(policy, 'match') }];
    };
    return [
      ...(isJsonObject(approval) ? found(approval, 'unless', [...path, 'approval']) : []),
      ...found(policy, 'arguments', path),
    ];
  });
}

/** A fault of the file, or a remark on it. */
export interface PlacedClause {
  readonly line: number;
  /** Begins with the path, and quotes no value of the file. */
  readonly clause: string;
}

/** @param faultsOf the faults of a schema */
export function schemaFaultsOf(
  mapping: PlacedMapping,
  faultsOf: (schema: Json) => readonly SchemaFault[],
): readonly PlacedClause[] {
  return fileSchemas(mapping).flatMap(({ path, schema }) =>
    faultsOf(schema).map((fault) => placed(mapping, [...path, ...fault.path], fault.problem)),
  );
}

/** @param mapping the document of a file without faults */
export function schemaRemarks(mapping: PlacedMapping): readonly PlacedClause[] {
  return fileSchemas(mapping).flatMap((given) => {
    const found = given.member === 'unless' ? remarksOnUnless(given) : remarksOnArguments(given);
    return [...found, ...remarksOnTypes(given.schema), ...remarksOnBounds(given.schema)].map(({ path, text }) =>
      placed(mapping, [...given.path, ...path], text),
    );
  });
}

interface Remark {
  /** From the root of the schema. */
  readonly path: Path;
  readonly text: string;
}

function remarksOnUnless({ schema, type }: FileSchema): readonly Remark[] {
  if (isAlwaysValid(schema, type)) return [{ path: [], text: 'covers every call: no person is asked' }];
  if (isNeverValid(schema, type)) return [{ path: [], text: 'can never be valid: every call asks' }];
  if (!isJsonObject(schema)) return [];
  return [
    ...([member(schema, 'type')].flat().every((each) => each === 'object')
      ? []
      : [{ path: [], text: 'has no type: object at its root: other values can pass without a yes' }]),
    ...gapsOf(schema).optional.map((path) => ({
      path,
      text: 'is not in required: a call without it can pass without a yes',
    })),
  ];
}

function remarksOnArguments({ schema, type }: FileSchema): readonly Remark[] {
  if (isNeverValid(schema, type)) return [{ path: [], text: 'can never be valid: every call is refused' }];
  const saysNoType = type === undefined && isJsonObject(schema) && member(schema, 'type') === undefined;
  return saysNoType && !isNeverValid(schema, 'array')
    ? [{ path: [], text: 'has no type: object at its root: a list passes, whatever its items are' }]
    : [];
}

function remarksOnBounds(root: Json): readonly Remark[] {
  return allSchemas(root).flatMap(({ path, schema }): readonly Remark[] => {
    const bounds = excludedBounds(schema);
    if (bounds !== undefined) {
      return [{ path: [...path, bounds.most], text: `excludes ${bounds.least}: no ${bounds.type} is valid here` }];
    }
    const values = isJsonObject(schema) ? member(schema, 'enum') : undefined;
    const isEmpty = path.length > 0 && Array.isArray(values) && values.length === 0;
    return isEmpty ? [{ path: [...path, 'enum'], text: 'is empty: no value is valid here' }] : [];
  });
}

/** Many services take the text "900" for a number. */
function remarksOnTypes(root: Json): readonly Remark[] {
  return [
    ...gapsOf(root).untyped.map((path) => ({ path, text: 'refuses no value of another type: add type' })),
    ...idleKeywords(root).map(({ path, type }) => ({ path, text: `refuses nothing: the type here is ${type}` })),
  ];
}

export function placed({ lineOf }: PlacedMapping, path: Path, text: string): PlacedClause {
  return { line: lineOf(path), clause: `${nameOf(path)} ${text}` };
}
