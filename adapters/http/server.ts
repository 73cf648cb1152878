/**
 * The HTTP listener: its time limits, and a stop that drops no request under way (decisions "How it runs").
 */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Every head we accept fits into one packet or two; one that trickles in holds a socket (design "Tokens and JSON"). */
const HEADERS_TIMEOUT_MS = 10_000;
/** Head and body together: 64 KiB within this is slower than any line a client has. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the minute that load balancers keep their side open, so that it is never we who close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How often the two time limits above are looked at. */
const CHECKING_INTERVAL_MS = 2_000;
/** Sockets, each a file descriptor and some kilobytes: well under the usual limit of descriptors for a service. */
const MAX_CONNECTIONS = 10_000;
/** What is under way gets this long to finish once a stop was asked for. */
const DRAIN_MS = 10_000;

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, waits for what is under way, closes. Resolves once every connection is closed. */
  stop(): Promise<void>;
}

export async function listen(
  handler: RequestListener,
  at: { readonly host: string; readonly port: number },
): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
    },
    handler,
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { host: at.host, port, stop: () => stop(server) };
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    // Answers from now on tell their client that the connection ends with them.
    server.prependListener('request', (_request, response) => {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    });
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}
