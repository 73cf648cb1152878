/**
 * One connection, as far as the answers on it go: those that its client is still owed come first, in their order, and
 * then, where it sent what is no request, the one that ends it. From that on nothing more on it is served: where the next
 * request begins is for the sender to say, and that one cannot be believed any more.
 */

import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ClosingReason, closingAnswer } from './closing-answer.ts';

/** So long, and in so many pieces more, may what is still coming come: closing at once would take the answer back. */
const LINGER_MS = 2000;
const MAX_PIECES = 16;
/** So many more requests may come behind what was none while answers are owed: Node holds each until the connection ends. */
const MAX_UNSERVED = 16;
/** Answers owed at once. Nothing else stops whoever sends one request after the other while an answer takes its time. */
const MAX_OWED = 100;

export interface ServedConnection {
  /** Nothing more that comes on it is served. */
  readonly isOver: boolean;
  /** No answer is owed on it, and it goes on. */
  readonly isIdle: boolean;
  /** There is one more request to answer; ends it, and says `false`, where there are too many. */
  owes(response: ServerResponse): boolean;
  /** The answer that is owed last says that it is, and what is sent behind it is for another connection (RFC 9112 §9.6). */
  endsWith(response: ServerResponse): void;
  /** There is one more that will not be answered, since it came when it was over. */
  ignores(): void;
  /** Ends it; `false` where that has been done before. */
  refuse(reason: ClosingReason, forHead?: boolean): boolean;
}

/** @param answered is told of each answer that is out, or will not be, as long as it goes on */
export function servedConnection(socket: Duplex, answered: (response: ServerResponse) => void): ServedConnection {
  const owed = new Set<ServerResponse>();
  /** Of those. Not for longer: it holds its request, and that a body. */
  let newest: ServerResponse | undefined;
  let [isRefused, hasLast, isEnded, pieces, unserved] = [false, false, false, 0, 0];
  let answer = '';
  /** Answered before all of it had come. */
  let answeredEarly: ServerResponse | undefined;

  const endOncePaid = (): void => {
    if (isEnded) return;
    for (const response of owed) {
      // What is still coming will not come any more; whoever waits for it hears of that when the connection is gone.
      const isWaitedFor = !response.req.complete && !response.headersSent;
      if (!isWaitedFor) return;
    }
    isEnded = true;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const isAnswered = answeredEarly !== undefined && !answeredEarly.req.complete;
    socket.end(isAnswered ? '' : answer);
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

  const isOver = (): boolean => isRefused || hasLast || (newest !== undefined && isLast(newest));

  return {
    get isOver() {
      return isOver();
    },
    get isIdle() {
      return owed.size === 0 && !isOver();
    },
    owes(response) {
      if (owed.size >= MAX_OWED) {
        socket.destroy();
        return false;
      }
      owed.add(response);
      newest = response;
      response.once('close', () => {
        owed.delete(response);
        if (isLast(response)) hasLast = true;
        if (newest === response) newest = undefined;
        answeredEarly = response.headersSent && !response.req.complete ? response : undefined;
        if (isRefused) endOncePaid();
        else answered(response);
      });
      return true;
    },
    endsWith(response) {
      hasLast = true;
      response.setHeader('Connection', 'close');
    },
    ignores() {
      unserved += 1;
      // Behind a last answer that is said to be one only as it comes, as many may have been sent as may be owed.
      if (unserved > (isRefused ? MAX_UNSERVED : MAX_OWED)) socket.destroy();
    },
    refuse(reason, forHead = false) {
      if (isRefused) {
        pieces += 1;
        if (isEnded && pieces > MAX_PIECES) socket.destroy();
        return false;
      }
      isRefused = true;
      answer = closingAnswer(reason, forHead);
      endOncePaid();
      return true;
    },
  };
}

/** Whether it has said that it is. */
function isLast(response: ServerResponse): boolean {
  return response.headersSent && !response.shouldKeepAlive;
}
