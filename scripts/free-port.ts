/**
 * A port of the loopback interface that nobody listens on, for a server that has to be told its own address. It is none
 * of those that a system gives out by itself, from 32768 on Linux and 49152 elsewhere: nobody gets it by chance before
 * the server listens, nor while it is away for a while.
 */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const FIRST = 20_000;
const END = 32_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => ('code' in error && error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
