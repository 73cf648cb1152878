/**
 * The load generator: whole requests prepared as bytes, over keep-alive connections, each answer checked. It speaks
 * just enough HTTP/1.1 over plain sockets, because it shares the machine's cores with what it measures, and
 * whatever a general HTTP client does for each request would be taken from that.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface LoadOptions {
  readonly concurrency: number;
  /** The round ends after this many seconds, or earlier when the prepared requests are used up. */
  readonly seconds: number;
  /** What the body of every answer has to contain (within one chunk), besides its status being 200. */
  readonly expected: string;
}

export interface LoadResult {
  readonly answered: number;
  readonly seconds: number;
  /** Milliseconds, in ascending order. */
  readonly latencies: Float64Array;
}

/** An answer that is not the one the round is about: its figures would mean nothing. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
}

/** @throws UnexpectedAnswer at the first answer that is not 200 with `expected` in it */
export async function driveLoad(
  target: Target,
  requests: readonly Buffer[],
  options: LoadOptions,
): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: options.concurrency }, () => open(target)));
  const latencies = new Float64Array(requests.length);
  let next = 0;
  let answered = 0;
  const started = performance.now();
  const deadline = started + options.seconds * 1000;

  async function work(socket: Socket): Promise<void> {
    const read = answerReader(socket);
    for (;;) {
      const request = performance.now() < deadline ? requests[next] : undefined;
      if (request === undefined) {
        return;
      }
      next += 1;
      const sent = performance.now();
      socket.write(request);
      const answer = await read();
      check(answer, options.expected);
      latencies[answered] = performance.now() - sent;
      answered += 1;
    }
  }

  try {
    await Promise.all(sockets.map(work));
    const seconds = (performance.now() - started) / 1000;
    return { answered, seconds, latencies: latencies.subarray(0, answered).sort() };
  } finally {
    for (const socket of sockets) {
      socket.destroy();
    }
  }
}

async function open({ host, port }: Target): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Answers a function that resolves with the next whole answer (head and body as they came) of this connection. */
function answerReader(socket: Socket): () => Promise<Buffer> {
  let received: Buffer = Buffer.alloc(0);
  let waiting: { resolve(answer: Buffer): void; reject(error: Error): void } | undefined;

  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    if (waiting !== undefined && isWhole(received)) {
      const { resolve } = waiting;
      const answer = received;
      waiting = undefined;
      received = Buffer.alloc(0);
      resolve(answer);
    }
  });
  const lost = () => waiting?.reject(new UnexpectedAnswer('the server closed a connection instead of answering'));
  socket.on('error', lost);
  socket.on('close', lost);

  return () =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
    });
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

function isWhole(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) {
    return false;
  }
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) {
    return bytes.subarray(-LAST_CHUNK.length).equals(Buffer.from(LAST_CHUNK));
  }
  return bytes.length >= headEnd + HEAD_END.length + Number(length);
}

function check(answer: Buffer, expected: string): void {
  const status = answer.toString('latin1', 'HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
  if (status !== '200' || !answer.includes(expected)) {
    const body = answer.subarray(answer.indexOf(HEAD_END) + HEAD_END.length);
    // An error's body says what was wrong and holds nothing secret; a success that is not the expected one may hold a token.
    const detail = status === '200' ? `without ${expected}` : body.toString();
    throw new UnexpectedAnswer(`an answer was ${status} ${detail}`);
  }
}
