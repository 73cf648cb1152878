/**
 * Cuts the lists in JSON-RPC responses of an MCP server to what a token may use. Any response with such a list is cut, whatever
 * request it answers: an event that is sent again says nothing of that request. What passes is what was read here: a message
 * with a list is written anew, and so is one that readers would disagree about.
 */

import {
  mayBeRounded,
  readAsSent,
  type SentJson,
  SentNumber,
  writeAsSent,
} from '../../../../domain/tokens/json-as-sent.ts';
import { isObject, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import { byFoldedName, isNamedAlike, type Names } from './lookalikes.ts';
import type { MayUse } from './tool-policies.ts';

/** Whether lists name all tools, or those that the token may call. */
export const LIST_MODES = ['all', 'allowed'] as const;
export type ListMode = (typeof LIST_MODES)[number];

/** Why an answer cannot be cut. It names no part of the answer. */
export type Unreadable =
  | 'it is too long'
  | 'it is compressed'
  | 'it ends early'
  | 'it is not JSON'
  | 'its list is not a list'
  | 'a tool has no name'
  | 'some readers take a member for another'
  | 'it nests too deep';

/** A text with `unreadable` has an error in place of each message that could not be read. */
export interface CutText {
  readonly text: string;
  readonly unreadable?: Unreadable;
}

/** The members of a result that list something, and the method that a token must be allowed to call. */
const LISTS = {
  prompts: 'prompts/get',
  resources: 'resources/read',
  resourceTemplates: 'resources/read',
} as const;
const MESSAGE = byFoldedName('result');
const RESULT = byFoldedName('tools', 'ttlMs', 'cacheScope', ...Object.keys(LISTS));
const TOOL = byFoldedName('name');

/** A text without these words, in any letters, has no list for any reader. An escape can hide one. */
const MAY_LIST = /tool|prompt|resource|\\u|[^\0-\x7f]/i;

/** A client keeps a list at most this long, so that it sees soon what another token may use. */
const MAX_TTL_MS = 60_000;

const INTERNAL_ERROR = -32603;
const SENTENCE = 'The server sent an answer that cannot be read. No part of it is passed on.';

/**
 * @param text one message or one batch
 * @param id of the request, for the answer to a message whose own id cannot be read
 * @param onTools gets each list of tools as the server sent it
 * @returns `undefined` if the text passes as it is
 */
export function cutText(
  text: string,
  may: MayUse,
  id: unknown,
  onTools?: (result: ListOfTools) => void,
): CutText | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadableText('it is not JSON', id);
  }
  if (!MAY_LIST.test(text)) return undefined;
  const { passed, isCut, unreadable } = cutMessages(value, may, id, onTools);
  if (!isCut && parseStrictJson(text) !== undefined) return undefined;
  try {
    // Schemas of tools have limits of 64 bits. Results of tools have long numbers too, but pass as they are.
    const written = mayBeRounded(text)
      ? writeAsSent(cutMessages(readAsSent(text), may, id).passed as SentJson, Object.keys)
      : JSON.stringify(passed);
    return { text: written, ...(unreadable && { unreadable }) };
  } catch (error) {
    // V8 reads deeper JSON than these functions do.
    if (error instanceof RangeError) return unreadableText('it nests too deep', id);
    throw error;
  }
}

/** @param value one message or one batch; its numbers may be `SentNumber` */
function cutMessages(
  value: unknown,
  may: MayUse,
  id: unknown,
  onTools: (result: ListOfTools) => void = () => undefined,
): { readonly passed: unknown; readonly isCut: boolean; readonly unreadable?: Unreadable | undefined } {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  const cuts = messages.map((message) => cutMessage(message, may, onTools));
  const passed = messages.map((message, at) => {
    const cut = cuts[at];
    return typeof cut === 'string' ? errorFor(isObject(message) ? message.id : id) : (cut ?? message);
  });
  return {
    passed: Array.isArray(value) ? passed : passed[0],
    isCut: cuts.some((cut) => cut !== undefined),
    unreadable: cuts.find((cut) => typeof cut === 'string'),
  };
}

/** The error in place of a text. */
export function unreadableText(unreadable: Unreadable, id: unknown): Required<CutText> {
  return { text: JSON.stringify(errorFor(id)), unreadable };
}

/** @param id a value of any kind, which the server may have sent (JSON-RPC 2.0 §4) */
function errorFor(id: unknown): object {
  const held = doubleOf(id);
  const known = typeof held === 'string' || Number.isSafeInteger(held) ? held : null;
  return { jsonrpc: '2.0', id: known, error: { code: INTERNAL_ERROR, message: SENTENCE } };
}

export interface ListOfTools {
  readonly tools: readonly unknown[];
  readonly nextCursor?: unknown;
}

/** @returns `undefined` if the message has no list */
function cutMessage(
  message: unknown,
  may: MayUse,
  onTools: (result: ListOfTools) => void,
): object | Unreadable | undefined {
  if (!isObject(message)) return undefined;
  if (isAmbiguous(message, MESSAGE)) return AMBIGUOUS;
  const { result } = message;
  if (!isObject(result)) return undefined;
  if (isAmbiguous(result, RESULT)) return AMBIGUOUS;
  const cut = new Map(Object.entries(result));
  let hasList = false;
  for (const [name, method] of Object.entries(LISTS)) {
    if (!cut.has(name)) continue;
    if (!Array.isArray(cut.get(name))) return 'its list is not a list';
    hasList = true;
    if (!may.method(method)) cut.set(name, []);
  }
  if (cut.has('tools')) {
    const tools = cut.get('tools');
    if (!Array.isArray(tools)) return 'its list is not a list';
    const kept = keptTools(tools, may);
    if (typeof kept === 'string') return kept;
    hasList = true;
    cut.set('tools', kept);
    onTools({ tools, nextCursor: result.nextCursor });
  }
  if (!hasList) return undefined;
  limitCache(cut);
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [name, name === 'result' ? Object.fromEntries(cut) : value]),
  );
}

const AMBIGUOUS = 'some readers take a member for another';

/** Some parsers set the object's prototype from `__proto__`, so they see other members. */
function isAmbiguous(value: object, names: Names): boolean {
  return Object.hasOwn(value, '__proto__') || isNamedAlike(value, names);
}

function keptTools(tools: readonly unknown[], { tool: mayCall }: MayUse): readonly unknown[] | Unreadable {
  const kept: unknown[] = [];
  for (const tool of tools) {
    if (!isObject(tool) || !Object.hasOwn(tool, 'name') || typeof tool.name !== 'string') return 'a tool has no name';
    if (isAmbiguous(tool, TOOL)) return AMBIGUOUS;
    if (mayCall(tool.name)) kept.push(tool);
  }
  return kept;
}

/** The list is that of one token (MCP 2026-07-28, "Caching"). */
function limitCache(result: Map<string, unknown>): void {
  if (!result.has('ttlMs') && !result.has('cacheScope')) return;
  result.set('cacheScope', 'private');
  if (!result.has('ttlMs')) return;
  const ttl = doubleOf(result.get('ttlMs'));
  result.set('ttlMs', typeof ttl === 'number' ? Math.min(ttl, MAX_TTL_MS) : 0);
}

/** A number that was kept as it was sent. Other values stay. */
function doubleOf(value: unknown): unknown {
  return value instanceof SentNumber ? Number(value.text) : value;
}
