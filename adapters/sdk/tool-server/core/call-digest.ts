/**
 * The digest that binds an approval to one call. It is taken over canonical JSON (RFC 8785): every server of an audience
 * computes the same digest of the same call. docs/approvals.md has the members.
 */

import { createHash } from 'node:crypto';
import type { Json } from '../../../../domain/tokens/strict-json.ts';

/** SHA-256 over canonical JSON, in base64url. */
export function digestOf(call: Readonly<Record<string, Json>>): string {
  return sha256(canonicalJson(call));
}

/** SHA-256 in base64url. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('base64url');
}

/**
 * Canonical JSON (RFC 8785): members sorted by their UTF-16 code units, no white space, numbers and strings as ECMAScript
 * writes them.
 *
 * @throws TypeError for a value that JSON does not have. A body parser may have made one
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(',')}}`;
  }
  const isScalar = value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  if (!isScalar) throw new TypeError('The call holds a value that JSON does not have.');
  return JSON.stringify(value);
}

/** Freezes the value and all that it holds. @param value a tree, as JSON.parse and structuredClone make them */
export function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFrozen(member);
  return Object.freeze(value);
}

/**
 * Whether parsers of JSON in this language differ about the value. From a member `__proto__` some set the object's prototype.
 * Some read a number beyond all doubles as infinite, and others refuse it. The service behind the guard may be in another
 * language, so the guard refuses more (adapters/sdk/tool-server/guard/described-call.ts).
 */
export function isAmbiguous(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(isAmbiguous);
}

/** An object as JSON has them, not a Date or a Map. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
