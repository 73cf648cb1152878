/**
 * Reads request bodies, and no more of them than we mean to (decisions "Token endpoint": at most 64 KiB everywhere,
 * refused without reading on).
 */

import type { IncomingMessage } from 'node:http';
import { inviteBody } from './invitations.ts';

/** Decisions "Token endpoint". The largest legitimate body is an exchange: a 16 KiB and an 8 KiB token. */
export const MAX_BODY_BYTES = 64 * 1024;

/** What an early answer still takes in and throws away, so that a client mid-send sees the answer and not a reset. */
const MAX_DISCARDED_BYTES = 1024 * 1024;
const MAX_DISCARD_MS = 2000;

export type BodyOutcome =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** Compressed: what is declared and what it inflates to differ, so we read none (RFC 9110 §15.5.16). */
  | { readonly kind: 'unsupported_encoding' }
  /** The client left before it had sent everything. */
  | { readonly kind: 'aborted' };

/** What was read before the surface asked for it. */
const ahead = new WeakMap<IncomingMessage, BodyOutcome>();

/** Reads the body now and keeps it for whoever asks for it later; whether there still is somebody to answer. */
export async function readBodyAhead(request: IncomingMessage): Promise<boolean> {
  const outcome = await readBody(request);
  ahead.set(request, outcome);
  return outcome.kind !== 'aborted';
}

export function readBody(request: IncomingMessage, limit: number = MAX_BODY_BYTES): Promise<BodyOutcome> {
  const known = ahead.get(request);
  if (known !== undefined) return Promise.resolve(known);
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    discardRest(request);
    return Promise.resolve({ kind: 'unsupported_encoding' });
  }
  if ((declaredLength(request) ?? 0) > limit) {
    discardRest(request);
    return Promise.resolve({ kind: 'too_large' });
  }
  inviteBody(request);
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

/**
 * Throws away what is still coming, within bounds, then closes. Closing at once would make the kernel reset the
 * connection, and a client that is still sending would never see the answer.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete) return;
  // What is short has mostly come with its head and is only still to be read, which node does by itself once it is
  // answered: to be watched over, each, would be much of what a refusal costs. What is long is watched from the
  // beginning: what node throws away by itself it does not count.
  if ((declaredLength(request) ?? Number.POSITIVE_INFINITY) > MAX_BODY_BYTES) watchRest(request);
  else if (short.push(request) === 1) setImmediate(watchUnfinished);
}

/** Bytes of its body, by its head (RFC 9112 §6.3), to which the parser keeps; `undefined` where it comes in chunks. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

let short: IncomingMessage[] = [];

function watchUnfinished(): void {
  const discarded = short;
  short = [];
  for (const request of discarded) if (!request.complete && !request.destroyed) watchRest(request);
}

function watchRest(request: IncomingMessage): void {
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
