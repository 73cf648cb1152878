/**
 * Lets a request work when there is a turn for it (specification "Overload"): its form is read first, so that a slow
 * sender has no turn to hold, and it holds its turn until its answer is out or its sender has left.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBodyAhead } from '../body.ts';
import { hasMediaType } from '../headers.ts';
import type { RequestKind, Work } from './request-kind.ts';
import { type Turn, type TurnLimits, type Turns, turns } from './turns.ts';

export type WorkTurns = Readonly<Record<Work, Turns>>;

/**
 * A proof reads a page of the ledger and hashes it, all within the one thread that everybody shares: together they keep
 * that busy for as long as they are let, and more at once are not done earlier.
 */
const PROOFS_AT_ONCE = 2;

export function workTurns(limits: TurnLimits, now: () => number = () => performance.now()): WorkTurns {
  return {
    token: turns(limits, now),
    introspection: turns(limits, now),
    revoking: turns(limits, now),
    proof: turns({ ...limits, concurrency: Math.min(PROOFS_AT_ONCE, limits.concurrency) }, now),
    other: turns(limits, now),
  };
}

/**
 * Forms that are being read at once, of 64 KiB at most each. Whoever means well has sent one as soon as its head; so it
 * is the one that has taken longest that is refused for one more, and whose connection is ended. So slow senders from many
 * addresses hold no more than this in memory, and keep nobody out.
 */
const MAX_READING = 1024;

/** Calls `serve` once there is a turn, or `refuse`; neither where the sender has left. */
export type Overload = (
  request: IncomingMessage,
  response: ServerResponse,
  kind: RequestKind,
  next: { readonly serve: () => void; readonly refuse: () => void },
) => void;

export interface OverloadOptions {
  readonly maxReading?: number;
}

export function overload(work: WorkTurns, { maxReading = MAX_READING }: OverloadOptions = {}): Overload {
  const watch = timeouts(work);
  /** How each is refused; the one that has taken longest comes first. */
  const reading = new Map<IncomingMessage, () => void>();

  const takeTurn: Overload = (_request, response, kind, { serve, refuse }) => {
    // What is not listened to any more is not done.
    if (response.destroyed) return;
    const start = (turn: Turn | undefined): void => {
      response.off('close', leave);
      if (turn === undefined) {
        refuse();
        return;
      }
      // The response is out, or the client has left: 'close' comes once in both cases.
      response.once('close', () => turn.release());
      serve();
    };
    const leave = (): void => place?.leave();
    const place = work[kind.work].ask(start);
    if (place === undefined) return;
    response.once('close', leave);
    watch();
  };

  const readThenTake: Overload = (request, response, kind, next) => {
    const turnsOfKind = work[kind.work];
    if (!kind.takesForm || request.method !== 'POST' || !hasMediaType(request, FORM)) {
      takeTurn(request, response, kind, next);
    } else if (turnsOfKind.isFull) {
      next.refuse();
    } else {
      reading.set(request, () => {
        // Once its answer is out the connection ends, and with it what has come of the form is let go. Whoever is still
        // sending may miss the answer.
        response.setHeader('Connection', 'close');
        next.refuse();
      });
      const [slowest] = reading;
      if (reading.size > maxReading && slowest !== undefined) {
        const [displaced, refuse] = slowest;
        reading.delete(displaced);
        refuse();
      }
      void readBodyAhead(request).then((isThere) => {
        if (reading.delete(request) && isThere) takeTurn(request, response, kind, next);
      });
    }
  };

  return readThenTake;
}

const FORM = ['application/x-www-form-urlencoded'];

/** One timer for everybody who waits, running only while somebody does. */
function timeouts(work: WorkTurns): () => void {
  const lines = Object.values(work);
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    timer = undefined;
    const next = lines.flatMap((line) => line.expire() ?? []);
    if (next.length > 0) set(Math.min(...next));
  };
  const set = (afterMs: number): void => {
    timer = setTimeout(look, Math.ceil(afterMs));
    timer.unref();
  };
  // Everybody waits equally long, so whoever comes now is not the next.
  return () => {
    if (timer === undefined) look();
  };
}
