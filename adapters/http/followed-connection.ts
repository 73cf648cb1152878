/**
 * A connection that node is reading from, followed so that a request on it can be turned away by its head: where one has
 * come whole and alone, and nothing else is under way, node's parser never hears of it.
 *
 * The parser must be at the beginning of a request then. It is there when what it made of the last bytes is all that we
 * read in them: the same line, the same headers, and an end. Then that request began with those bytes and ended with them:
 * had it begun before them it would have more headers, and further on in the head fewer; and in the body, its own body,
 * which is as long, would end behind them.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { readUnread, type UnreadRequest } from './unread-request.ts';

export interface FollowedConnection {
  /** Is told of each request that node has read and that expects nothing, as soon as its head was. */
  hasRead(request: IncomingMessage): void;
}

/**
 * @param connection node's server has it, and is reading from it: where it has paused it, only its own parser would have it
 * read again
 * @param turnAway answers a request that is there whole and alone, where nothing else is under way; `false` where node is to
 * read it
 */
export function followConnection(
  connection: Socket,
  turnAway: (request: UnreadRequest) => boolean,
): FollowedConnection {
  /** Whether node's parser is at the beginning of a request. */
  let isAtBeginning = false;
  /** Of the request that it is in the body of, the bytes that have not come. */
  let missing = 0;
  let lastRead: IncomingMessage | undefined;

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
    if (request === undefined || !isAtBeginning || !turnAway(request)) follow(request, handOn);
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
