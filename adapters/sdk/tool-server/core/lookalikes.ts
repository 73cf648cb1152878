/**
 * Names that some JSON parsers take for others. The service behind the guard parses a message again, in any language. Some
 * parsers, for example Go's, ignore letter case: they would read `Method` in place of `method`.
 */

import { membersOf } from './mcp-message.ts';

const ASCII = /^[\x20-\x7e]*$/;
/** No language puts so many marks on a letter. UAX #15 calls a text without such runs stream-safe. */
const LONG_RUN_OF_MARKS = /\p{M}{31}/u;

/** The members of an MCP message, of its parameters and of a subscription that the guard decides by. */
const MESSAGE = byFoldedName('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const PARAMS = byFoldedName('name', 'arguments', 'notifications');
/** A gateway decides by `Mcp-Name`, which is compared with this one. */
const NAMED = byFoldedName('uri');
const NOTIFICATIONS = byFoldedName('resourceSubscriptions');

export interface Names {
  readonly byFolded: ReadonlyMap<string, string>;
  /** A longer name folds to none of these: each letter of theirs comes from at most two code units. */
  readonly longest: number;
}

export function byFoldedName(...names: readonly string[]): Names {
  const longest = 2 * Math.max(...names.map((name) => name.length));
  return { byFolded: new Map(names.map((name) => [folded(name), name])), longest };
}

/**
 * Whether a member of the MCP message has one of these names in other letters.
 *
 * @param isNamed whether the request has the header `Mcp-Name`
 */
export function hasLookalike(message: unknown, isNamed = false): boolean {
  const params = membersOf(message)?.get('params');
  const notifications = membersOf(params)?.get('notifications');
  return (
    isNamedAlike(message, MESSAGE) ||
    isNamedAlike(params, PARAMS) ||
    (isNamed && isNamedAlike(params, NAMED)) ||
    isNamedAlike(notifications, NOTIFICATIONS)
  );
}

/** Whether a member has one of the names in other letters. */
export function isNamedAlike(value: unknown, { byFolded, longest }: Names): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).some((name) => {
    const cut = beforeNul(name);
    return cut.length <= longest && (byFolded.get(folded(cut)) ?? name) !== name;
  });
}

/**
 * The name as such parsers compare it. They also take `ſ` for `s`, and the Kelvin sign for `k`. Others end it at NUL. A long run
 * of marks stays as it is: normalizing it takes time by the square of its length.
 */
export function folded(name: string): string {
  const cut = beforeNul(name);
  if (ASCII.test(cut)) return cut.toLowerCase();
  return (LONG_RUN_OF_MARKS.test(cut) ? cut : cut.normalize('NFKC')).toLowerCase();
}

/** Whether `folded` leaves such a name as it is, though some parsers may normalize it. */
export function isUnfolded(name: string): boolean {
  return LONG_RUN_OF_MARKS.test(name);
}

function beforeNul(name: string): string {
  const end = name.indexOf('\0');
  return end < 0 ? name : name.slice(0, end);
}
