/** The parts of a call that another parser could read otherwise. The service behind the guard parses it again, in any language. */

import { isHeldByDouble, isSentObject, type SentJson, SentNumber } from '../../../../domain/tokens/json-as-sent.ts';
import type { Json } from '../../../../domain/tokens/strict-json.ts';
import { firstPart } from '../core/call-parts.ts';
import { folded, isUnfolded } from '../core/lookalikes.ts';
import type { ArgumentPath } from './argument-path.ts';

/**
 * Takes parsed JSON for JSON as it was sent, for the functions below: they look at names, and at numbers that a double rounds.
 *
 * @param value of a text without such numbers (`mayBeRounded`)
 */
export function asReadExactly(value: Json): SentJson {
  return value as SentJson;
}

/** The path to the first number that some readers round, or `undefined`. */
export function roundedPart(value: SentJson): ArgumentPath | undefined {
  return firstPart(value, (part) => (isRounded(part) ? [] : undefined));
}

/** The path to the first member that some readers take for another one, or `undefined`. */
export function ambiguousPart(value: SentJson): ArgumentPath | undefined {
  return firstPart(value, (part) => {
    const name = isSentObject(part) ? ambiguousAmong(Object.keys(part)) : undefined;
    return name === undefined ? undefined : [name];
  });
}

/**
 * Of a call: the path to the first member that some readers take for one of the names, with that name, or `undefined`.
 *
 * @param names that a schema has, anywhere
 */
export function takenForOneOf(names: ReadonlySet<string>): (value: SentJson) => ArgumentPath | undefined {
  const byFolded = new Map([...names].map((name) => [folded(name), name]));
  const meant = (name: string) => (names.has(name) ? undefined : byFolded.get(folded(name)));
  return (value) =>
    firstPart(value, (part) => {
      const found = isSentObject(part) ? Object.keys(part).map(meant) : [];
      const name = found.find((each) => each !== undefined);
      return name === undefined ? undefined : [name];
    });
}

/** Whether some readers find another number: as a double it is another one, or it is a whole number from 2^53. */
function isRounded(value: SentJson): boolean {
  if (!(value instanceof SentNumber)) return false;
  const double = Number(value.text);
  return !isHeldByDouble(value.text) || (Number.isInteger(double) && !Number.isSafeInteger(double));
}

/** Names that differ only in letter case, or behind a NUL. */
function ambiguousAmong(names: readonly string[]): string | undefined {
  const unfolded = names.find(isUnfolded);
  if (unfolded !== undefined) return unfolded;
  const byFolded = new Map<string, string>();
  for (const name of names) {
    const key = folded(name);
    const earlier = byFolded.get(key);
    if (earlier !== undefined) return earlier;
    byFolded.set(key, name);
  }
  return undefined;
}
