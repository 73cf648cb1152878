/** Reads the body of a request, within a limit, before any body parser. */

import type { IncomingMessage } from 'node:http';
import { isCoded } from '../../../../domain/content-coding.ts';

/** Far more than the arguments of a call need. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** The longest limit of the guard: tools that take files get them in Base64. */
export const MAX_MAX_BODY_BYTES = 16 * MAX_BODY_BYTES;

type ReadBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'compressed' | 'too_long' | 'incomplete' };

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<ReadBody> {
  if (isCoded(request.headers['content-encoding'])) return { kind: 'compressed' };
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // The connection stays open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > maxBytes) return { kind: 'too_long' };
      chunks.push(chunk);
    }
  } catch {
    return { kind: 'incomplete' };
  }
  return { kind: 'read', bytes: Buffer.concat(chunks) };
}
