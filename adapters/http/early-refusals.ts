/**
 * Refusals of requests that node has not read: under a flood most requests are turned away, and to make one of them, and
 * an answer to it, costs several times what is said. So a connection on which a request was turned away is followed: where
 * a later one has come whole and alone, and nothing else is under way, it is turned away by its head, and node's parser
 * never hears of it.
 *
 * The parser must be at the beginning of a request then. It is there when what it made of the last bytes is all that we
 * read in them: the same line, the same headers, and an end. Then that request began with those bytes and ended with them:
 * had it begun before them it would have more headers, and further on in the head fewer; and in the body, its own body,
 * which is as long, would end behind them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readUnread, type UnreadRequest } from './unread-request.ts';

export interface EarlyAnswer {
  /** Status line and headers, each with the end of its line, as far as they depend on what is refused. */
  readonly head: string;
  readonly body: string;
}

export interface EarlyRefusals {
  /** Whether the request was turned away, so that the next one on its connection may be before it is read. */
  wasTurnedAway(response: ServerResponse): boolean;
  /** The answer, where it is; `undefined` where node is to read it. */
  turnAway(request: UnreadRequest, connection: Socket): EarlyAnswer | undefined;
}

export interface FollowedConnection {
  /** Is told of each request that node has read and that expects nothing, as soon as its head was. */
  hasRead(request: IncomingMessage): void;
  /** Is told of each request that node has read and that was turned away. */
  hasTurnedAway(): void;
  /** Since the last one was turned away, in either way. Milliseconds. */
  calmMs(): number;
}

/**
 * @param connection node's server has it, and is reading from it: where it has paused it, only its own parser would have it
 * read again
 * @param isIdle whether no answer is owed on it, and it goes on
 * @param bytesOf an answer as it is sent
 */
export function followConnection(
  connection: Socket,
  isIdle: () => boolean,
  turnAway: EarlyRefusals['turnAway'],
  bytesOf: (answer: EarlyAnswer) => Buffer,
): FollowedConnection {
  /** Whether node's parser is at the beginning of a request. */
  let isAtBeginning = false;
  /** Of the request that it is in the body of, the bytes that have not come. */
  let missing = 0;
  let lastRead: IncomingMessage | undefined;
  let lastTurnedAway = performance.now();

  const isTurnedAway = (request: UnreadRequest): boolean => {
    // Answers are not piled up for a sender who takes none.
    if (!isAtBeginning || request.missing > 0 || connection.writableLength > 0 || !isIdle()) return false;
    const answer = turnAway(request, connection);
    if (answer === undefined) return false;
    lastTurnedAway = performance.now();
    connection.write(bytesOf(answer));
    return true;
  };
  const follow = (request: UnreadRequest | undefined, handOn: () => void): void => {
    handOn();
    const isSame = request !== undefined && isReadAs(request, lastRead);
    missing = isSame ? request.missing : 0;
    isAtBeginning = isSame && isComplete(lastRead);
    if (missing === 0) lastRead = undefined;
  };
  const followBody = (bytes: Buffer, handOn: () => void): void => {
    handOn();
    isAtBeginning = missing === bytes.length && isComplete(lastRead);
    missing = Math.max(0, missing - bytes.length);
    if (missing === 0) lastRead = undefined;
  };
  const hasCome = (bytes: Buffer, handOn: () => void): void => {
    if (missing > 0) {
      followBody(bytes, handOn);
      return;
    }
    const request = readUnread(bytes);
    if (request === undefined || !isTurnedAway(request)) follow(request, handOn);
  };

  // Node's server listens first, and no listener can keep something from another.
  const { emit } = connection;
  connection.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    const [bytes] = given;
    const handOn = (): boolean => Reflect.apply(emit, connection, [event, ...given]);
    if (event !== 'data' || !Buffer.isBuffer(bytes)) return handOn();
    hasCome(bytes, handOn);
    return true;
  };
  // What comes is an event only where somebody else listens as well: otherwise node's parser has it from the system itself,
  // which costs less, and is why nobody is followed who was not turned away.
  connection.on('data', () => undefined);

  return {
    hasRead(request) {
      lastRead = request;
    },
    hasTurnedAway() {
      lastTurnedAway = performance.now();
    },
    calmMs: () => performance.now() - lastTurnedAway,
  };
}

/**
 * Early answers with what node says in each of its own: the date (RFC 9110 §6.6.1), and how long the connection is kept. In
 * one second they are all the same, and are put together once.
 *
 * @param now milliseconds since 1970
 */
export function datedAnswers(keepAliveSeconds: number, now: () => number = Date.now): (answer: EarlyAnswer) => Buffer {
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`;
  const known = new Map<EarlyAnswer, Buffer>();
  let second = Number.NaN;
  return (answer) => {
    const current = Math.floor(now() / 1000);
    if (current !== second) known.clear();
    second = current;
    const made = known.get(answer);
    if (made !== undefined) return made;
    const date = new Date(second * 1000).toUTCString();
    const bytes = Buffer.from(`${answer.head}Date: ${date}\r\n${kept}${answer.body}`);
    known.set(answer, bytes);
    return bytes;
  };
}

function isReadAs({ method, url, rawHeaders }: UnreadRequest, read: IncomingMessage | undefined): boolean {
  return (
    read !== undefined &&
    read.method === method &&
    read.url === url &&
    read.rawHeaders.length === rawHeaders.length &&
    read.rawHeaders.every((part, at) => part === rawHeaders[at])
  );
}

function isComplete(read: IncomingMessage | undefined): boolean {
  return read?.complete === true;
}
