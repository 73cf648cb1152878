/**
 * Reads a form with a file (RFC 7578), strictly: each part once, with a name, and nothing before, between or after. The
 * forms here have a token and one small file.
 */

import type { IncomingMessage } from 'node:http';
import { trimOws } from '../../../domain/trim-ows.ts';
import { singleHeader } from '../message/head.ts';

export interface Part {
  readonly bytes: Buffer;
}

export const MULTIPART = 'multipart/form-data';

/** Browsers draw it from these characters (RFC 2046 §5.1.1 allows more). */
const BOUNDARY = /^multipart\/form-data;[ \t]*boundary="?([A-Za-z0-9'()+_,./:=?-]{1,70})"?$/i;
const NAME = /^form-data;[ \t]*name="([\w-]{1,64})"(?:;[ \t]*filename="[^"\r\n]*")?$/i;
const CRLF = '\r\n';
const END_OF_HEAD = Buffer.from(`${CRLF}${CRLF}`);
/** The token and the file. */
const MAX_PARTS = 8;

/** The parts by their names; `undefined` for a malformed body. */
export function readMultipart(request: IncomingMessage, body: Buffer): ReadonlyMap<string, Part> | undefined {
  const type = singleHeader(request, 'content-type');
  const boundary = type.kind === 'present' ? BOUNDARY.exec(trimOws(type.value))?.[1] : undefined;
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`${CRLF}--${boundary}`);
  const parts = new Map<string, Part>();
  // The first delimiter has no line before it.
  let rest = Buffer.concat([Buffer.from(CRLF), body]);
  if (rest.indexOf(delimiter) !== 0) return undefined;
  for (;;) {
    rest = rest.subarray(delimiter.length);
    const end = rest.subarray(0, 2).toString('latin1');
    if (end === '--') return isEnd(rest.subarray(2)) ? parts : undefined;
    if (end !== CRLF || parts.size === MAX_PARTS) return undefined;
    const next = rest.indexOf(delimiter);
    const part = next === -1 ? undefined : readPart(rest.subarray(2, next));
    if (part === undefined || parts.has(part.name)) return undefined;
    parts.set(part.name, { bytes: part.bytes });
    rest = rest.subarray(next);
  }
}

function isEnd(after: Buffer): boolean {
  return after.length === 0 || after.toString('latin1') === CRLF;
}

function readPart(part: Buffer): { readonly name: string; readonly bytes: Buffer } | undefined {
  const head = part.indexOf(END_OF_HEAD);
  if (head === -1) return undefined;
  const headers = part.subarray(0, head).toString('utf8').split(CRLF);
  const dispositions = headers.flatMap((header) => /^content-disposition:[ \t]*(.*)$/i.exec(header)?.[1] ?? []);
  const name = dispositions.length === 1 ? NAME.exec(dispositions[0] ?? '')?.[1] : undefined;
  return name === undefined ? undefined : { name, bytes: part.subarray(head + END_OF_HEAD.length) };
}
