/** Alterations of an evidence bundle. */

import { createHash } from 'node:crypto';

export interface Document {
  readonly selection: object;
  readonly log: object | null;
  readonly evidence: readonly object[];
  readonly completeness: object;
}

export interface LoggedDocument extends Document {
  readonly log: { readonly note: string; readonly keys: readonly string[] };
}

/** The text of a bundle that can be made without any key: all parts have any content, and the digest fits. */
export function textOf({ selection, log, evidence, completeness }: Document): string {
  const named = (name: string, value: unknown) => `"${name}":${JSON.stringify(value)},\n`;
  const entries = evidence.map((entry) => JSON.stringify(entry)).join(',\n');
  const before = `{"format":"mandate-evidence/1",\n${named('selection', selection)}${named('log', log)}"evidence":[\n${entries}\n],\n${named('completeness', completeness)}`;
  return `${before}"sha256":"${sha256Of(before)}"}\n`;
}

export const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

type Path = readonly string[];

/** The paths of all values that are neither objects nor lists. */
export function leavesOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]));
}

/** A copy with another value at the path; `undefined` removes the member. */
export function changed(value: unknown, [name, ...path]: Path, change: (value: unknown) => unknown): unknown {
  if (name === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.flatMap((each, at) => (String(at) === name ? (changed(each, path, change) ?? []) : [each]));
  }
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([key, each]) => {
      const next = key === name ? changed(each, path, change) : each;
      return next === undefined ? [] : [[key, next]];
    }),
  );
}

/** Another value of the same form. */
export function altered(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value !== 'string') return 7;
  return value.replace(/[0-9a-zA-Z](?=[^0-9a-zA-Z]*$)/, (last) => (last === '1' ? '2' : '1'));
}

/** The statements of the bundle's maker, which no key and no hash covers. */
export const STATEMENTS = /^(selection (from|to|agent_id)|completeness (not_sealed|not_logged|archived_before))$/;

/** Changes, removals and insertions at a byte. */
export function mutationsOf(bytes: Buffer, random: (below: number) => number): readonly ((at: number) => Buffer)[] {
  return [
    (at) =>
      Buffer.concat([bytes.subarray(0, at), Buffer.of((bytes[at] ?? 0) ^ (1 << random(8))), bytes.subarray(at + 1)]),
    (at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
    (at) => Buffer.concat([bytes.subarray(0, at), Buffer.of(32 + random(95)), bytes.subarray(at)]),
    (at) => bytes.subarray(0, at),
    (at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(300))]),
  ];
}

/** Other spellings of a part, which a strict reader refuses. */
export const SPELLINGS: readonly (readonly [string, string])[] = [
  ['"leaf_index":2', '"leaf_index": 2'],
  ['"leaf_index":2', '"leaf_index":2.0'],
  ['"leaf_index":2', '"leaf_index":20e-1'],
  ['"leaf_index":2', '"leaf_index":1,"leaf_index":2'],
  ['"delegation_depth":1,"decision":"allow"', '"decision":"allow","delegation_depth":1'],
  ['"event":"token.issued"', '"event":"token\\u002eissued"'],
  ['"crv":"P-256","kty":"EC"', '"kty":"EC","crv":"P-256"'],
  ['"kty":"EC"', '"kty":"EC","use":"sig"'],
  ['"completeness":{', '"completeness":{"more":1,'],
  ['"format":"mandate-evidence/1"', '"format":"mandate-evidence/2"'],
  ['mandate-evidence/1",\n', 'mandate-evidence/1",\n\n'],
  [']}\n],', ']},\n],'],
];
