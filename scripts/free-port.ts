/**
 * Finds a free loopback port for a server whose address must be known in advance. The port is outside the system's
 * ephemeral range (from 32768 on Linux, 49152 elsewhere), so that no other program gets it by chance.
 */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const FIRST = 20_000;
const RANGES = 12;
const PORTS_PER_RANGE = 1_000;

/**
 * The first port of this process's range. Processes that start in succession use different ranges: the server of another
 * process may be about to listen.
 */
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
