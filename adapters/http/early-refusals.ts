/**
 * Refusals of requests that node has not read: under a flood most requests are refused, and to make one of them, and an
 * answer to it, costs several times what is said. So where a request has come whole and alone, on a connection on which
 * nothing else is under way, it is refused by its head, and node's parser never hears of it.
 *
 * The parser must be where we think it is, at the beginning of a request: so only as long as all that came before on the
 * connection came one request at a time. And node must have read one: until then its time limit for the first head runs.
 */

import type { Socket } from 'node:net';
import { readUnread, type UnreadRequest } from './unread-request.ts';

export interface EarlyAnswer {
  /** Status line and headers, each with the end of its line, as far as they depend on what is refused. */
  readonly head: string;
  readonly body: string;
}

/** The answer, where it is refused; `undefined` where node is to read it. */
export type RefuseEarly = (request: UnreadRequest, connection: Socket) => EarlyAnswer | undefined;

/**
 * @param connection node's server has it already
 * @param isIdle whether no answer is owed on it, and it may go on
 */
export function refuseUnread(
  connection: Socket,
  isIdle: () => boolean,
  refuse: RefuseEarly,
  keepAliveSeconds: number,
): void {
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`;
  let [isInStep, hasBeenRead, missing] = [true, false, 0];

  const isRefused = (bytes: Buffer): boolean => {
    if (!isInStep) return false;
    if (missing > 0) {
      missing -= bytes.length;
      isInStep = missing >= 0;
      return false;
    }
    const request = readUnread(bytes);
    if (request === undefined) {
      isInStep = false;
      return false;
    }
    // Answers are not piled up for a sender who takes none.
    const mayBe = hasBeenRead && request.missing === 0 && connection.writableLength === 0 && isIdle();
    const answer = mayBe ? refuse(request, connection) : undefined;
    if (answer === undefined) {
      hasBeenRead = true;
      missing = request.missing;
      return false;
    }
    connection.write(`${answer.head}Date: ${new Date().toUTCString()}\r\n${kept}${answer.body}`, 'latin1');
    return true;
  };

  // Node's server listens first, and no listener can keep something from another. What comes is an event only where
  // somebody else listens as well: otherwise the parser reads it from the system itself.
  const { emit } = connection;
  connection.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    const [bytes] = given;
    if (event === 'data' && Buffer.isBuffer(bytes) && isRefused(bytes)) return true;
    return Reflect.apply(emit, connection, [event, ...given]);
  };
  connection.on('data', () => undefined);
}
