/**
 * Names that some JSON parsers take for others. The service behind the guard parses a message again, in any language. Some
 * parsers, for example Go's, ignore letter case: they would read `Method` in place of `method`.
 */

import { membersOf } from '../core/mcp-message.ts';

/** The members of an MCP message, of its parameters and of a subscription that the guard decides by. */
const MESSAGE = byFoldedName('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const PARAMS = byFoldedName('name', 'arguments', 'notifications');
const NOTIFICATIONS = byFoldedName('resourceSubscriptions');

type Names = ReadonlyMap<string, string>;

function byFoldedName(...names: readonly string[]): Names {
  return new Map(names.map((name) => [folded(name), name]));
}

/** Whether a member of the MCP message has one of these names in other letters. */
export function hasLookalike(message: unknown): boolean {
  const params = membersOf(message)?.get('params');
  const notifications = membersOf(params)?.get('notifications');
  return isNamedAlike(message, MESSAGE) || isNamedAlike(params, PARAMS) || isNamedAlike(notifications, NOTIFICATIONS);
}

function isNamedAlike(value: unknown, names: Names): boolean {
  return [...(membersOf(value)?.keys() ?? [])].some((name) => (names.get(folded(name)) ?? name) !== name);
}

/** The name as such parsers compare it. They also take `ſ` for `s`, and the Kelvin sign for `k`. Others end it at NUL. */
export function folded(name: string): string {
  const [cut = ''] = name.split('\0', 1);
  return cut.normalize('NFKC').toLowerCase();
}
