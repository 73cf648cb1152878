/**
 * A connection from which nothing has come that is to be served. Node does not have it yet: what says nothing costs no
 * parser, and what comes first, and begins a connection for certain, can be turned away by its head alone.
 */

import type { Socket } from 'node:net';
import { readUnread, type UnreadRequest } from './unread-request.ts';

export interface NewcomerLimits {
  /** Until something comes. Milliseconds, as both. */
  readonly silenceMs: number;
  /** From a refusal until something comes again. */
  readonly keepAliveMs: number;
}

/** What becomes of it. */
export interface Reception {
  /** Answers a request that is there whole and alone; `false` where it is to be served. */
  readonly turnAway: (request: UnreadRequest) => boolean;
  /** Something has come that is to be served, or no whole request: from now on all of it is somebody else's. */
  readonly serve: (bytes: Buffer) => void;
  /** Nothing has come in time. */
  readonly tooSlow: () => void;
}

/**
 * @param connection nobody else listens to what comes on it; nothing of that has been read
 */
export function welcome(connection: Socket, limits: NewcomerLimits, { turnAway, serve, tooSlow }: Reception): void {
  let wasAnswered = false;
  const hasCome = (bytes: Buffer): void => {
    // Some clients send one behind a body (RFC 9112 §2.2): it is not the beginning of another request.
    if (wasAnswered && bytes.equals(EMPTY_LINE)) return;
    const request = readUnread(bytes);
    if (request === undefined || !turnAway(request)) {
      leave();
      serve(bytes);
    } else if (!wasAnswered) {
      wasAnswered = true;
      connection.setTimeout(limits.keepAliveMs);
    }
  };
  const hasEnded = (): void => {
    connection.end();
  };
  const isSilent = (): void => {
    leave();
    if (wasAnswered) connection.destroy();
    else tooSlow();
  };
  const leave = (): void => {
    connection.off('data', hasCome).off('end', hasEnded).setTimeout(0, isSilent);
  };
  connection.on('data', hasCome).on('end', hasEnded).setTimeout(limits.silenceMs, isSilent);
}

const EMPTY_LINE = Buffer.from('\r\n');
