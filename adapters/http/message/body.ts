/** Reads request bodies of at most 64 KiB (supplement "Token endpoint"). Refuses a longer one without reading the rest. */

import { isAscii } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isCoded } from '../../../domain/content-coding.ts';
import { type Json, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import type { BodyOutcome, ServedRequest } from '../server/message-classes.ts';
import { hasMediaType } from './head.ts';

/** Supplement "Token endpoint". The largest legitimate body is an exchange: a 16 KiB and an 8 KiB token. */
const MAX_BODY_BYTES = 64 * 1024;

/** How much of a body is discarded after an early response, so that its sender gets the response, not a reset. */
const MAX_DISCARDED_BYTES = 1024 * 1024;
const MAX_DISCARD_MS = 2000;

/** Reads a body and keeps it for the application. Returns `false` if the client has disconnected. */
export async function readBodyAhead(request: ServedRequest): Promise<boolean> {
  const outcome = await readBody(request);
  request.readAhead = outcome;
  return outcome.kind !== 'aborted';
}

export function readBody(request: ServedRequest, limit: number = MAX_BODY_BYTES): Promise<BodyOutcome> {
  if (request.readAhead !== undefined) return Promise.resolve(request.readAhead);
  if (isCoded(request.headers['content-encoding'])) {
    discardRest(request);
    return Promise.resolve({ kind: 'unsupported_encoding' });
  }
  if ((declaredLength(request) ?? 0) > limit) {
    discardRest(request);
    return Promise.resolve({ kind: 'too_large' });
  }
  request.invite?.();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (outcome: BodyOutcome) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      resolve(outcome);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      settle({ kind: 'too_large' });
      discardRest(request);
    };
    const onEnd = () =>
      settle({ kind: 'read', bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const onClose = () => settle({ kind: 'aborted' });
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

type TypedBody =
  | Extract<BodyOutcome, { readonly kind: 'read' | 'aborted' }>
  | {
      readonly kind: 'refused';
      /** A fixed word for the log. */
      readonly reason: 'unsupported_media_type' | 'unsupported_encoding' | 'body_too_large';
      /** A sentence for the client. */
      readonly sentence: string;
    };

/**
 * Reads a body of one of these media types.
 *
 * @param otherwise the sentence for a body of any other type
 * @param ofAscii `any`: the charset of a body is ignored if all its bytes are ASCII
 */
export async function readTypedBody(
  request: ServedRequest,
  mediaTypes: readonly string[],
  otherwise: string,
  ofAscii: 'utf-8' | 'any' = 'utf-8',
): Promise<TypedBody> {
  const unsupported = { kind: 'refused', reason: 'unsupported_media_type', sentence: otherwise } as const;
  if (!hasMediaType(request, mediaTypes, ofAscii)) {
    discardRest(request);
    return unsupported;
  }
  const body = await readBody(request);
  if (body.kind === 'read' && !hasMediaType(request, mediaTypes) && !isAscii(body.bytes)) return unsupported;
  switch (body.kind) {
    case 'unsupported_encoding':
      return { kind: 'refused', reason: 'unsupported_encoding', sentence: 'The body must not be compressed.' };
    case 'too_large':
      return { kind: 'refused', reason: 'body_too_large', sentence: 'The body is over 64 KiB.' };
    default:
      return body;
  }
}

/** Removes one line break at the end of a token: some senders add it (supplement "Sizes and forms nobody wrote down"). */
export function withoutLineBreak(token: string): string {
  return token.replace(/\r?\n$/, '');
}

/** Returns `undefined` if the bytes are not JSON in UTF-8, or are JSON that parsers could read differently. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  const text = readUtf8(bytes);
  return text === undefined ? undefined : parseStrictJson(text);
}

/**
 * Discards the rest of a body after an early response, up to a limit that Node's own discarding lacks. Closing the
 * connection at once would reset it, and the client would lose the response.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || (declaredLength(request) ?? Number.POSITIVE_INFINITY) <= MAX_BODY_BYTES) return;
  const deadline = setTimeout(() => request.destroy(), MAX_DISCARD_MS);
  deadline.unref();
  let discarded = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) request.destroy();
  });
  request.on('close', () => clearTimeout(deadline));
  request.on('error', () => undefined);
  request.resume();
}

export function hasBody(request: IncomingMessage): boolean {
  return declaredLength(request) !== 0;
}

/** The Content-Length (RFC 9112 §6.3), which Node's parser enforces. `undefined` if the body is chunked. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
