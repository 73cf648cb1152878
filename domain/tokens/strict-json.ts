/**
 * Reads JSON that is signed or on which a decision depends. It refuses text that JSON readers disagree about: a member
 * named twice (RFC 7519 §4 lets a reader take either), ill-formed Unicode, and deep nesting.
 */

/** Deeper than any token or registration needs, and shallow enough for recursive code. */
const MAX_DEPTH = 32;

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

/** The value; `undefined` if the text is not JSON or is refused. */
export function parseStrictJson(text: string): Json | undefined {
  if (!hasUnambiguousMembers(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}

/** Whether a value that another reader parsed nests deeper than `parseStrictJson` accepts: too deep for recursive code. */
export function nestsTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsTooDeep(inner, levels - 1));
}

/** An object that is no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of the object: `__proto__` and `constructor` are never found on the prototype. */
export function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function textMember(object: JsonObject, name: string): string | undefined {
  const value = member(object, name);
  return typeof value === 'string' ? value : undefined;
}

/** The member if it is a list, or else an empty list. */
export function listMember(object: JsonObject, name: string): readonly Json[] {
  const value = member(object, name);
  return Array.isArray(value) ? value : [];
}

export function isTextList(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The same object without its null members. Nulls deeper inside stay. */
export function withoutNulls(object: JsonObject): JsonObject {
  if (!Object.values(object).includes(null)) return object;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/**
 * One pass over the strings, brackets and commas; JSON.parse checks the rest. In a text with escapes every string is decoded,
 * so that `"a"` and `"\u0061"` count as the same name, and a lone surrogate is found.
 */
function hasUnambiguousMembers(text: string): boolean {
  if (!text.isWellFormed()) return false;
  // Not `includes`: V8 moves that search into the loop below, where each round would search the whole text again.
  const hasEscapes = /\\/.test(text);
  // The names seen so far in each open object; undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
        open.push(new Set());
        expectsName = true;
        break;
      case 0x5b: // [
        open.push(undefined);
        expectsName = false;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        expectsName = open.at(-1) !== undefined;
        break;
      case 0x22: {
        const end = endOfString(text, at);
        if (end === undefined) return false;
        const names = expectsName ? open.at(-1) : undefined;
        if (names !== undefined || hasEscapes) {
          const value = decodeString(text.slice(at, end + 1));
          if (value === undefined || !value.isWellFormed() || names?.has(value)) return false;
          names?.add(value);
          expectsName = false;
        }
        at = end;
        break;
      }
    }
    if (open.length > MAX_DEPTH) return false;
  }
  return true;
}

/** @param start the place of the opening quotation mark */
export function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at += 1;
  }
  return undefined;
}

function decodeString(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}
