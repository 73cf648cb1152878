/**
 * Generates load: sends prepared bytes over keep-alive connections, and parses only as much HTTP/1.1 as needed. The load
 * generator shares the machine's cores with the server, and a general HTTP client would need more of them.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpRequest } from '../requests.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A request as the bytes that are sent. */
export function toBytes({ host, port }: Target, { method, path, headers = {}, body = '' }: HttpRequest): Buffer {
  const all = { host: `${host}:${port}`, accept: 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n\r\n${body}`);
}

/** A response that the benchmark does not expect, so that its figures mean nothing. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
}

interface ClosedLoopOptions {
  /** The number of connections. Each always has one request under way. */
  readonly concurrency: number;
  /** The load ends after this time, or earlier when all prepared requests are sent. */
  readonly seconds: number;
  /** Text that every response must contain. */
  readonly expected: string;
  /** Milliseconds between two requests of a connection. By default one follows the other's response. */
  readonly everyMs?: number;
}

interface ClosedLoopResult {
  readonly answered: number;
  readonly seconds: number;
  /** Milliseconds in ascending order. */
  readonly latencies: Float64Array;
}

/**
 * Closed loop: each connection sends its next request when the previous one is answered.
 *
 * @throws UnexpectedAnswer at the first response whose status is neither 200 nor 204, or that lacks `expected`
 */
export async function driveClosedLoop(
  target: Target,
  requests: readonly Buffer[],
  { concurrency, seconds, expected, everyMs = 0 }: ClosedLoopOptions,
): Promise<ClosedLoopResult> {
  const sockets = await Promise.all(Array.from({ length: concurrency }, () => open(target)));
  const latencies = new Float64Array(requests.length);
  const started = performance.now();
  const deadline = started + seconds * 1000;
  let next = 0;
  let answered = 0;

  const work = async (socket: Socket) => {
    while (performance.now() < deadline) {
      const request = requests[next++];
      if (request === undefined) return;
      const sent = performance.now();
      check(await roundTrip(socket, request), expected);
      latencies[answered++] = performance.now() - sent;
      if (everyMs > 0) await pause(Math.max(0, sent + everyMs - performance.now()));
    }
  };
  try {
    await Promise.all(sockets.map(work));
    const took = (performance.now() - started) / 1000;
    return { answered, seconds: took, latencies: latencies.subarray(0, answered).sort() };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

interface OpenLoopOptions {
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Whether each request uses a new connection. By default idle connections are reused. */
  readonly newConnections?: boolean;
}

/** The responses of one status. */
export interface Answers {
  readonly count: number;
  /** Responses that arrived before the last request was sent. Only these count for a rate. */
  readonly whileSending: number;
  /** Milliseconds from the time when the request was due, in ascending order. */
  readonly latencies: Float64Array;
}

export interface OpenLoopResult {
  /** Requests a second that were sent: less than `rate` if the load generator was too slow. */
  readonly offered: number;
  readonly seconds: number;
  readonly byStatus: ReadonlyMap<number, Answers>;
  /** Requests without a response. */
  readonly lost: number;
}

/** More requests than a service on two cores holds, running and queued. */
const IDLE_AT_START = 192;
/** Time for the server to accept the idle connections. */
const ACCEPT_MS = 200;
/** Requests are sent in small groups, because a timer for each would use most of the CPU. */
const TICK_MS = 4;
/** The time limit for responses after the last request. */
const LAST_RESPONSE_MS = 5000;

/**
 * Open loop: requests are sent at a fixed rate, whether or not earlier ones are answered. Latencies count from the time
 * when a request was due. So a server that slows down the load generator does not look faster (coordinated omission).
 *
 * @param requests each is sent once. The load ends at the latest when all are sent
 */
export async function driveOpenLoop(
  target: Target,
  requests: readonly Buffer[],
  { rate, seconds, newConnections = false }: OpenLoopOptions,
): Promise<OpenLoopResult> {
  const idle: Socket[] = [];
  const sockets = new Set<Socket>();
  const latencies = new Map<number, number[]>();
  const whileSending = new Map<number, number>();
  let isSending = true;
  let [sent, underWay, lost] = [0, 0, 0];

  const connection = (): Socket => {
    const socket = connect({ ...target, noDelay: true });
    sockets.add(socket);
    // `resume` reads the end of an idle connection, so that `writable` becomes false.
    return socket.on('error', () => undefined).resume();
  };
  const send = async (request: Buffer, due: number): Promise<void> => {
    sent += 1;
    underWay += 1;
    // Takes the connection that was idle longest, so that none reaches the server's keep-alive timeout.
    let socket = idle.shift();
    while (socket?.writable === false) socket = idle.shift();
    socket ??= connection();
    try {
      const response = await roundTrip(socket, request);
      const status = statusOf(response);
      const times = latencies.get(status) ?? [];
      latencies.set(status, times);
      times.push(performance.now() - due);
      if (isSending) whileSending.set(status, (whileSending.get(status) ?? 0) + 1);
      if (newConnections || CLOSES.test(headOf(response))) {
        sockets.delete(socket);
        socket.end();
      } else {
        idle.push(socket);
      }
    } catch {
      lost += 1;
      sockets.delete(socket);
    } finally {
      underWay -= 1;
    }
  };

  for (let count = 0; count < (newConnections ? 0 : IDLE_AT_START); count += 1) {
    const socket = connection();
    await once(socket, 'connect');
    idle.push(socket);
  }
  await pause(ACCEPT_MS);

  const began = performance.now();
  const total = Math.min(requests.length, Math.floor(rate * seconds));
  while (sent < total) {
    const elapsed = (performance.now() - began) / 1000;
    // At the end all requests are due. Rounding could leave out the last one.
    const due = elapsed >= seconds ? total : Math.min(total, Math.floor(elapsed * rate));
    for (const request of requests.slice(sent, due)) void send(request, began + (sent / rate) * 1000);
    await pause(TICK_MS);
  }
  isSending = false;
  const took = (performance.now() - began) / 1000;
  const deadline = performance.now() + LAST_RESPONSE_MS;
  while (underWay > 0 && performance.now() < deadline) await pause(TICK_MS);
  lost += underWay;
  for (const socket of sockets) socket.destroy();
  const answers = (times: readonly number[], status: number): Answers => ({
    count: times.length,
    whileSending: whileSending.get(status) ?? 0,
    latencies: Float64Array.from(times).sort(),
  });
  return {
    offered: sent / took,
    seconds: took,
    lost,
    byStatus: new Map([...latencies].map(([status, times]) => [status, answers(times, status)])),
  };
}

async function open(target: Target): Promise<Socket> {
  const socket = connect({ ...target, noDelay: true });
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
}

/** Sends a request, and reads the whole response. @throws UnexpectedAnswer if the connection closes too early */
function roundTrip(socket: Socket, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const done = () => socket.off('data', read).off('close', closed);
    const read = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      if (!isWhole(received)) return;
      done();
      resolve(received);
    };
    const closed = () => {
      done();
      reject(new UnexpectedAnswer('the server closed a connection instead of answering'));
    };
    socket.on('data', read).on('close', closed);
    if (socket.closed) closed();
    else socket.write(request);
  });
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** Such a response ends after its head (RFC 9110 §15.3.5). */
const NO_CONTENT = 204;
const CLOSES = /\r\nconnection: *close\r\n/i;

function headOf(response: Buffer): string {
  return response.toString('latin1', 0, response.indexOf(HEAD_END) + HEAD_END.length);
}

function statusOf(response: Buffer): number {
  return Number(response.toString('latin1', 'HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
}

function isWhole(bytes: Buffer): boolean {
  if (!bytes.includes(HEAD_END)) return false;
  if (statusOf(bytes) === NO_CONTENT) return true;
  const head = headOf(bytes);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bytes.length >= head.length + Number(length);
  return bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
}

function check(response: Buffer, expected: string): void {
  const status = statusOf(response);
  const isSuccess = status === 200 || status === NO_CONTENT;
  if (isSuccess && response.includes(expected)) return;
  // An error body describes the problem. The body of a success may contain a token, so it is not shown.
  const detail = isSuccess ? `without ${expected}` : response.subarray(headOf(response).length).toString();
  throw new UnexpectedAnswer(`an answer was ${status} ${detail}`);
}
