/**
 * The canonical JSON of the specification ("Ledger and seal"), written from its text alone, as an auditor would write
 * it. This file must not import the service's code. Quotes are from the specification.
 */

import { createHash } from 'node:crypto';

/** A record or checkpoint in the format of the API. */
export type PublishedObject = Readonly<Record<string, unknown>>;

/** "semantic fields only, … without `seq` and `checkpoint`" */
export function canonicalRecordForm(record: PublishedObject): string {
  return canonicalForm(record, ['seq', 'checkpoint']);
}

/** "the checkpoint fields except `signature`" */
export function canonicalCheckpointForm(checkpoint: PublishedObject): string {
  return canonicalForm(checkpoint, ['signature']);
}

/** "SHA-256 of byte 0x00 followed by the canonical JSON of the record" */
export function leafOf(record: PublishedObject): Buffer {
  return createHash('sha256').update(Buffer.of(0)).update(canonicalRecordForm(record), 'ascii').digest();
}

/** "keys in lexicographic order, no whitespace, nulls explicit" */
function canonicalForm(object: PublishedObject, without: readonly string[]): string {
  const names = Object.keys(object).filter((name) => !without.includes(name));
  const members = names.sort().map((name) => `${quoted(name)}:${canonicalValue(object[name])}`);
  return `{${members.join(',')}}`;
}

function canonicalValue(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' && Number.isInteger(value)) return value.toFixed(0);
  throw new TypeError('The ledger has no such value.');
}

export function quoted(text: string): string {
  let written = '"';
  for (let index = 0; index < text.length; index += 1) written += unit(text.charCodeAt(index));
  return `${written}"`;
}

function unit(code: number): string {
  // "a backslash is written as two backslashes; backspace, tab, line feed, form feed, carriage return …"
  switch (code) {
    case 0x5c:
      return '\\\\';
    case 0x08:
      return '\\b';
    case 0x09:
      return '\\t';
    case 0x0a:
      return '\\n';
    case 0x0c:
      return '\\f';
    case 0x0d:
      return '\\r';
  }
  // "each of the characters double quote, ampersand, apostrophe, plus, less-than, greater-than and backtick"
  const isNamed = [0x22, 0x26, 0x27, 0x2b, 0x3c, 0x3e, 0x60].includes(code);
  const isPrintable = code >= 0x20 && code <= 0x7e;
  if (isPrintable && !isNamed) return String.fromCharCode(code);
  return `\\u${`000${code.toString(16)}`.slice(-4).toUpperCase()}`;
}
