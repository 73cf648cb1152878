/**
 * Load that comes as it comes in life: at its own rate, whether or not what came before has been answered. A connection
 * that has been answered is used again, unless it is asked for another; where there is none, another one is opened. Times
 * count from the moment when a request was due, so that a server that holds up the sender cannot make itself look faster.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Target } from './load.ts';

export interface OpenLoopOptions {
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Otherwise a connection that has been answered is used again, and some are open when it begins. */
  readonly isConnectionEach?: boolean;
}

/** The answers of one status. */
export interface Answered {
  readonly count: number;
  /** Those that came while requests were still sent: what was under way in the end is no part of a rate. */
  readonly meanwhile: number;
  /** Milliseconds, ascending. */
  readonly latencies: Float64Array;
}

export interface OpenLoopResult {
  /** Requests that were sent in a second: less than was asked for where the sender itself could not keep up. */
  readonly offered: number;
  readonly seconds: number;
  readonly byStatus: ReadonlyMap<number, Answered>;
  /** Connections that ended without an answer. */
  readonly lost: number;
}

/** As many as a service of two cores works on and has waiting at once, and some. */
const OPEN_AT_FIRST = 192;
/** Until the other side has accepted the last of them. */
const SETTLE_MS = 200;
/** Sent in small groups: a timer for each request would be most of the work. */
const TICK_MS = 4;
/** After the last request is sent, so long is waited for answers that are still out. */
const PATIENCE_MS = 5000;
const STATUS_AT = 'HTTP/1.1 '.length;

/** @param requests one after another, each sent once; the load ends with them, if not before */
export async function driveOpenLoop(
  target: Target,
  requests: readonly Buffer[],
  { rate, seconds, isConnectionEach = false }: OpenLoopOptions,
): Promise<OpenLoopResult> {
  const idle: Socket[] = [];
  const open = new Set<Socket>();
  const latencies = new Map<number, number[]>();
  const meanwhile = new Map<number, number>();
  let isSending = true;
  let [sent, underWay, lost] = [0, 0, 0];

  const openOne = (): Socket => {
    const socket = connect({ ...target, noDelay: true });
    open.add(socket);
    // As clients do: what the other side ends while nothing is asked on it is read, and used no more.
    return socket.on('error', () => undefined).resume();
  };
  const send = (due: number): void => {
    const request = requests[sent];
    if (request === undefined) return;
    sent += 1;
    underWay += 1;
    // The one that has been idle longest, as with many clients that have one each: none is left unused until it is ended.
    let socket = idle.shift();
    while (socket?.writable === false) socket = idle.shift();
    exchange(socket ?? openOne(), request, due);
  };
  const exchange = (socket: Socket, request: Buffer, due: number): void => {
    let received: Buffer = Buffer.alloc(0);
    const done = (): void => {
      underWay -= 1;
      socket.off('data', onData).off('close', onClose);
    };
    const onClose = (): void => {
      lost += 1;
      open.delete(socket);
      done();
    };
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      if (!isWhole(received)) return;
      const status = Number(received.toString('latin1', STATUS_AT, STATUS_AT + 3));
      const times = latencies.get(status) ?? [];
      times.push(performance.now() - due);
      latencies.set(status, times);
      if (isSending) meanwhile.set(status, (meanwhile.get(status) ?? 0) + 1);
      done();
      if (isConnectionEach || received.includes(LAST)) {
        open.delete(socket);
        socket.end();
      } else {
        idle.push(socket);
      }
    };
    socket.on('data', onData).on('close', onClose);
    socket.write(request);
  };

  for (let count = 0; count < (isConnectionEach ? 0 : OPEN_AT_FIRST); count += 1) {
    const socket = openOne();
    await once(socket, 'connect');
    idle.push(socket);
  }
  await pause(SETTLE_MS);

  const began = performance.now();
  const ends = began + seconds * 1000;
  const total = Math.min(requests.length, Math.floor(rate * seconds));
  while (sent < total) {
    const now = performance.now();
    // In the end all of them: rounding may leave the last one out for good.
    const due = now >= ends ? total : Math.min(total, Math.floor(((now - began) / 1000) * rate));
    while (sent < due) send(began + (sent / rate) * 1000);
    await pause(TICK_MS);
  }
  isSending = false;
  const took = (performance.now() - began) / 1000;
  const lastCall = performance.now() + PATIENCE_MS;
  while (underWay > 0 && performance.now() < lastCall) await pause(TICK_MS);
  lost += underWay;
  for (const socket of open) socket.destroy();
  return {
    offered: sent / took,
    seconds: took,
    byStatus: new Map([...latencies].map(([status, times]) => [status, answered(times, meanwhile.get(status) ?? 0)])),
    lost,
  };
}

function answered(times: readonly number[], meanwhile: number): Answered {
  return { count: times.length, meanwhile, latencies: Float64Array.from(times).sort() };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST = Buffer.from('\r\nConnection: close\r\n');
const LENGTH = Buffer.from('\r\nContent-Length: ');

/** Every answer that is measured says how long it is. */
function isWhole(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return false;
  const at = bytes.indexOf(LENGTH);
  const length =
    at === -1 || at > headEnd ? 0 : Number.parseInt(bytes.toString('latin1', at + LENGTH.length, headEnd), 10);
  return bytes.length >= headEnd + HEAD_END.length + length;
}
