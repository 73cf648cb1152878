/**
 * Where Prometheus asks: a listener of its own, so that who may reach it is a matter of networks, and the service's own
 * address never shows how it is doing. `GET /metrics` and nothing else, without a credential.
 */

import { createServer, type Server } from 'node:http';

/** Prometheus and its twin, each with a connection or two. */
const MAX_CONNECTIONS = 16;
/** Heads of scrapes have a few hundred bytes. */
const MAX_HEADER_BYTES = 4 * 1024;
const HEAD_TIMEOUT_MS = 2_000;
/** Longer than the usual minute between two scrapes. */
const KEEP_ALIVE_MS = 65_000;
const CHECKING_INTERVAL_MS = 1_000;

/** The text format that every Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface ScrapeListener {
  /** Nobody is answered any more. Resolves once every connection is closed. */
  close(): Promise<void>;
}

/**
 * @param text everything there is; those who ask while it is put together share it
 * @throws the system's error, when the address can't be listened on
 */
export async function listenForScrapes(
  { host, port }: { readonly host: string; readonly port: number },
  text: () => Promise<string>,
): Promise<ScrapeListener> {
  let asking: Promise<string> | undefined;
  const shared = () => {
    asking ??= text().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEAD_TIMEOUT_MS,
      requestTimeout: HEAD_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
    },
    async (request, response) => {
      // A body is nothing to wait for: what comes of one ends with the connection.
      if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
        response.setHeader('Connection', 'close');
      }
      response.setHeader('Cache-Control', 'no-store');
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      try {
        const body = await shared();
        response.writeHead(200, { 'Content-Type': CONTENT_TYPE }).end(body);
      } catch {
        response.writeHead(500).end();
      }
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
