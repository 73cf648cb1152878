/** What is answered to requests that node has not read. */

import type { Socket } from 'node:net';

export interface EarlyAnswer {
  /** Status line and headers, each with the end of its line, as far as they depend on what is refused. */
  readonly head: string;
  readonly body: string;
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

/**
 * Sends at the end of this round of the event loop what comes in it. Most of what a small answer costs is that its reader
 * is woken: one after the other they find it still awake.
 */
export function sentTogether(): (connection: Socket, bytes: Buffer) => void {
  let corked: Socket[] = [];
  const flush = (): void => {
    const connections = corked;
    corked = [];
    for (const connection of connections) connection.uncork();
  };
  return (connection, bytes) => {
    connection.cork();
    connection.write(bytes);
    if (corked.push(connection) === 1) setImmediate(flush);
  };
}
