/**
 * Reads a form with a file (RFC 7578), each part once. The forms here have a token and one small file. Node's own reader
 * refuses anything between the parts, parts without a name, and attachments.
 */

import type { IncomingMessage } from 'node:http';
import { singleHeader } from '../message/head.ts';

export interface Part {
  readonly bytes: Buffer;
}

export const MULTIPART = 'multipart/form-data';

/** The token and the file. */
const MAX_PARTS = 8;

/** The parts by their names; `undefined` for a malformed body. */
export async function readMultipart(
  request: IncomingMessage,
  body: Buffer,
): Promise<ReadonlyMap<string, Part> | undefined> {
  const type = singleHeader(request, 'content-type');
  if (type.kind !== 'present' || !isBare(body)) return undefined;
  const form = await formIn(type.value, body);
  const names = new Set(form?.map(([name]) => name));
  if (form === undefined || form.length > MAX_PARTS || names.size !== form.length) return undefined;
  return new Map(
    await Promise.all(form.map(async ([name, value]) => [name, { bytes: await bytesOf(value) }] as const)),
  );
}

/** Whether nothing stands before the first delimiter and after the last one. Newer versions of Node ignore it. */
function isBare(body: Buffer): boolean {
  const text = body.toString('latin1');
  const [delimiter = ''] = text.split('\r\n', 1);
  return delimiter.startsWith('--') && (text.endsWith(`${delimiter}--`) || text.endsWith(`${delimiter}--\r\n`));
}

async function formIn(type: string, body: Buffer): Promise<readonly [string, string | Blob][] | undefined> {
  try {
    return [...(await new Response(body, { headers: { 'content-type': type } }).formData())];
  } catch {
    return undefined;
  }
}

async function bytesOf(value: string | Blob): Promise<Buffer> {
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(await value.arrayBuffer());
}
