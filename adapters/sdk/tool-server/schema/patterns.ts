/** The patterns of a schema. RE2JS, a port of RE2, runs them: its time is linear in the text. */

import { RE2JS } from 're2js';
import { isJsonObject, type Json, member } from '../../../../domain/tokens/strict-json.ts';
import { folded } from '../core/lookalikes.ts';
import type { SchemaFault } from './faults.ts';
import { allSchemas } from './places.ts';

/** The faults of the patterns of a schema. `schemaFaults` has all others. */
export function patternFaults(root: Json): readonly SchemaFault[] {
  return allSchemas(root).flatMap(({ path, schema }) =>
    patternsOf(schema).flatMap(({ text, at }) => {
      const problem = problemOfPattern(text);
      return problem === undefined ? [] : [{ path: [...path, ...at], problem }];
    }),
  );
}

export function patternsOf(schema: Json): readonly { readonly text: string; readonly at: readonly string[] }[] {
  if (!isJsonObject(schema)) return [];
  const pattern = member(schema, 'pattern');
  const byPattern = member(schema, 'patternProperties');
  const names = isJsonObject(byPattern) ? Object.keys(byPattern) : [];
  return [
    ...(typeof pattern === 'string' ? [{ text: pattern, at: ['pattern'] }] : []),
    ...names.map((text) => ({ text, at: ['patternProperties', text] })),
  ];
}

function problemOfPattern(text: string): string | undefined {
  try {
    new RegExp(text, 'u');
  } catch {
    return 'must be a regular expression of ECMA-262';
  }
  const escapes = text.replaceAll('\\\\', '');
  if (SURROGATE.test(escapes))
    return 'must name a character beyond U+FFFF by itself or as \\u{1F600}, without surrogates';
  if (NAMED_REFERENCE.test(escapes)) return UNKNOWN_TO_RE2;
  try {
    compilePattern(text);
  } catch {
    return UNKNOWN_TO_RE2;
  }
  return undefined;
}

const UNKNOWN_TO_RE2 =
  'must be a pattern that RE2 knows too, which needs time in proportion to the text: without lookaround, back references, and counts over 1000';
/** ECMA-262 takes two of these for one character. RE2 takes each for one that no text has. */
const SURROGATE = /\\u[Dd][89A-Fa-f]/;
/** RE2JS compiles it, and takes it for the characters behind the backslash. */
const NAMED_REFERENCE = /\\k</;

export function compilePattern(text: string, flags = 0): RE2JS {
  return RE2JS.compile(RE2JS.translateRegExp(text), flags);
}

/** Calls repeat the names of members, and a comparison takes some 3 µs. Verdicts about names are kept, up to this number and length. */
const MAX_NAMES = 1000;
const MAX_NAME = 100;

/**
 * @param patterns of names
 * @returns whether some readers take a name for one that a pattern matches, and the pattern does not match the name. Such readers
 * ignore letter case, normalize, or end a name at NUL (../core/lookalikes.ts)
 */
export function takenForMatch(patterns: readonly string[]): (name: string) => boolean {
  const compiled = patterns.map((text) => ({
    exact: compilePattern(text),
    anyCase: compilePattern(text, RE2JS.CASE_INSENSITIVE),
  }));
  const isTaken = (name: string): boolean => {
    const read = folded(name);
    return compiled.some(({ exact, anyCase }) => !exact.test(name) && (exact.test(read) || anyCase.test(read)));
  };
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = isTaken(name);
    if (name.length > MAX_NAME) return verdict;
    if (verdicts.size >= MAX_NAMES) verdicts.clear();
    verdicts.set(name, verdict);
    return verdict;
  };
}
