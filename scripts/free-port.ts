/**
 * A port of the loopback interface that nobody listens on, for a server that has to be told its own address. It is none
 * of those that a system gives out by itself, from 32768 on Linux and 49152 elsewhere: nobody gets it by chance before
 * the server listens, nor while it is away for a while.
 */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const FIRST = 20_000;
const RANGES = 12;
const PORTS_PER_RANGE = 1_000;

/** Processes that were started one after the other draw from different ranges: another's server may be about to listen. */
const first = FIRST + (process.pid % RANGES) * PORTS_PER_RANGE;
const given = new Set<number>();

export async function freePort(): Promise<number> {
  if (given.size > PORTS_PER_RANGE / 2) given.clear();
  for (;;) {
    const port = randomInt(first, first + PORTS_PER_RANGE);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => ('code' in error && error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
