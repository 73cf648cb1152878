/**
 * Refusals of requests that node has not read: under a flood most requests are turned away, and to make one of them, and
 * an answer to it, costs several times what is said. So what comes is turned away by its head alone where that is safe:
 * on a new connection before node has it, and on one that node has where it is followed. Those are the ones on which a
 * request was turned away before, and those that node gets soon after any was.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { datedAnswers, type EarlyAnswer, sentTogether } from './early-answers.ts';
import { type FollowedConnection, followConnection } from './followed-connection.ts';
import type { UnreadRequest } from './unread-request.ts';

export interface Refuser {
  /** Whether the request was turned away, so that the next one on its connection may be before it is read. */
  wasTurnedAway(response: ServerResponse): boolean;
  /** The answer, where it is; `undefined` where node is to read it. */
  turnAway(request: UnreadRequest, connection: Socket): EarlyAnswer | undefined;
}

export interface EarlyRefusals {
  /** Answers it; `false` where node is to read it. */
  turnAway(connection: Socket, request: UnreadRequest): boolean;
  /** Is told of each connection that node has from now on. */
  handedOver(connection: Socket): void;
  /** Is told of each request that node has read and that expects nothing, as soon as its head was. */
  hasRead(request: IncomingMessage): void;
  /** Is told of each answer to a request that node has read. */
  answered(connection: Socket, response: ServerResponse): void;
  /** Whether it is followed, and nothing has been turned away for long, on any: another connection costs less. */
  isCalm(connection: Duplex): boolean;
}

export interface EarlyRefusalOptions {
  readonly refuser: Refuser;
  /** Whether no answer is owed on it, and it goes on. */
  readonly isIdle: (connection: Socket) => boolean;
  /** As it is promised. */
  readonly keepAliveSeconds: number;
  /** Since anything was turned away. Milliseconds. */
  readonly calmMs: number;
}

export function earlyRefusals({ refuser, isIdle, keepAliveSeconds, calmMs }: EarlyRefusalOptions): EarlyRefusals {
  const followed = new WeakMap<Duplex, FollowedConnection>();
  const bytesOf = datedAnswers(keepAliveSeconds);
  const send = sentTogether();
  let lastTurnedAway = Number.NEGATIVE_INFINITY;
  const isCalm = (): boolean => performance.now() - lastTurnedAway >= calmMs;

  const turnAway = (connection: Socket, request: UnreadRequest): boolean => {
    // Answers are not piled up for a sender who takes none.
    if (request.missing > 0 || connection.writableLength > 0 || !isIdle(connection)) return false;
    const answer = refuser.turnAway(request, connection);
    if (answer === undefined) return false;
    lastTurnedAway = performance.now();
    send(connection, bytesOf(answer));
    return true;
  };
  const follow = (connection: Socket): void => {
    followed.set(
      connection,
      followConnection(connection, (request) => turnAway(connection, request)),
    );
  };
  const followIfQuiet = (connection: Socket, { complete }: IncomingMessage): void => {
    // Node may have paused it for the rest of a body, or for answers that are not taken, and has to be done with that.
    if (followed.has(connection) || !complete || !isIdle(connection) || connection.isPaused()) return;
    follow(connection);
  };

  return {
    turnAway,
    handedOver(connection) {
      // What came first was not turned away; what comes next may well be.
      if (!isCalm()) follow(connection);
    },
    hasRead(request) {
      followed.get(request.socket)?.hasRead(request);
    },
    answered(connection, response) {
      if (!refuser.wasTurnedAway(response)) return;
      lastTurnedAway = performance.now();
      // Node says that it was answered before it has gone through the rest of what came with its head; then it has.
      if (!followed.has(connection)) setImmediate(followIfQuiet, connection, response.req);
    },
    isCalm: (connection) => followed.has(connection) && isCalm(),
  };
}
