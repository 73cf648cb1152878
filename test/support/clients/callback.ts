/** The redirect address of a program on this computer: a server on loopback, which keeps the answers that arrive (RFC 8252 §7.3). */

import { type Loopback, startLoopback } from '../loopback.ts';

export interface Callback {
  readonly address: string;
  /** The query of the next answer. */
  next(): Promise<URLSearchParams>;
  close(): Promise<void>;
}

export async function startCallback(path = '/callback'): Promise<Callback> {
  const arrived: URLSearchParams[] = [];
  const waiting: ((query: URLSearchParams) => void)[] = [];
  const server: Loopback = await startLoopback((request, response) => {
    const url = new URL(request.path, 'http://127.0.0.1');
    response.writeHead(url.pathname === path ? 200 : 404, { 'content-type': 'text/plain' });
    response.end('Return to the program.');
    // Browsers also ask for /favicon.ico.
    if (url.pathname !== path) return;
    const taker = waiting.shift();
    if (taker === undefined) arrived.push(url.searchParams);
    else taker(url.searchParams);
  });
  return {
    address: `${server.url}${path}`,
    next: () =>
      new Promise((resolve) => {
        const first = arrived.shift();
        if (first === undefined) waiting.push(resolve);
        else resolve(first);
      }),
    close: () => server.close(),
  };
}
