/**
 * Refusals of requests that node has not read: under a flood most requests are refused, and to make one of them, and an
 * answer to it, costs several times what is said. So a connection on which a request was refused is followed: where the
 * next one has come whole and alone, and nothing else is under way, it is refused by its head, and node's parser never
 * hears of it.
 *
 * The parser must be at the beginning of a request then. It is there when what it made of the last bytes is all that we
 * read in them: the same line, the same headers, and an end. Then that request began with those bytes and ended with them.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { readUnread, type UnreadRequest } from './unread-request.ts';

export interface EarlyAnswer {
  /** Status line and headers, each with the end of its line, as far as they depend on what is refused. */
  readonly head: string;
  readonly body: string;
}

export interface FollowedConnection {
  /** Is told of each request that node has read, as soon as its head was. */
  hasRead(request: IncomingMessage): void;
}

/**
 * @param connection node's server has it, and has answered on it
 * @param isIdle whether no answer is owed on it, and it may go on
 */
export function followConnection(
  connection: Socket,
  isIdle: () => boolean,
  refuse: (request: UnreadRequest, connection: Socket) => EarlyAnswer | undefined,
  keepAliveSeconds: number,
): FollowedConnection {
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`;
  /** Whether node's parser is at the beginning of a request. */
  let isAtBeginning = false;
  /** Of the request that it is in the body of, the bytes that have not come. */
  let missing = 0;
  let lastRead: IncomingMessage | undefined;

  const refuses = (request: UnreadRequest): boolean => {
    // Answers are not piled up for a sender who takes none.
    if (!isAtBeginning || request.missing > 0 || connection.writableLength > 0 || !isIdle()) return false;
    const answer = refuse(request, connection);
    if (answer === undefined) return false;
    connection.write(`${answer.head}Date: ${new Date().toUTCString()}\r\n${kept}${answer.body}`);
    return true;
  };
  const follow = (request: UnreadRequest | undefined, handOn: () => void): void => {
    lastRead = undefined;
    handOn();
    const isSame = request !== undefined && isReadAs(request, lastRead);
    missing = isSame ? request.missing : 0;
    isAtBeginning = isSame && isComplete(lastRead);
  };
  const followBody = (bytes: Buffer, handOn: () => void): void => {
    handOn();
    isAtBeginning = missing === bytes.length && isComplete(lastRead);
    missing = Math.max(0, missing - bytes.length);
  };
  const hasCome = (bytes: Buffer, handOn: () => void): void => {
    if (missing > 0) {
      followBody(bytes, handOn);
      return;
    }
    const request = readUnread(bytes);
    if (request === undefined || !refuses(request)) follow(request, handOn);
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
  // which costs less, and is why nobody is followed who was not refused.
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
