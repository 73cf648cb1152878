/**
 * A separate HTTP listener for Prometheus. Network rules can then decide who may reach it, and the service's public
 * address never shows metrics. It serves `GET /metrics`, and `GET /healthz` if asked for, and nothing else, without a
 * credential. A query is ignored.
 */

import { createServer, type Server } from 'node:http';

/** Enough for two Prometheus servers with a few connections each. */
const MAX_CONNECTIONS = 16;
/** The head of a scrape request has a few hundred bytes. */
const MAX_HEADER_BYTES = 4 * 1024;
const HEAD_TIMEOUT_MS = 2_000;
/** Longer than the usual minute between two scrapes. */
const KEEP_ALIVE_MS = 65_000;
const CHECKING_INTERVAL_MS = 1_000;

/** The text format that every version of Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface ScrapeListener {
  /** Stops serving. Resolves when every connection is closed. */
  close(): Promise<void>;
}

/**
 * @param text renders all metrics. Concurrent scrapes share one rendering
 * @param isServing answers `/healthz`, with 200 or 503; not served when absent
 * @throws the system's error if it cannot listen on the address
 */
export async function listenForScrapes(
  { host, port }: { readonly host: string; readonly port: number },
  text: () => Promise<string>,
  isServing?: () => boolean,
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
      // A request body is not read. The connection is closed after the response.
      if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
        response.setHeader('Connection', 'close');
      }
      response.setHeader('Cache-Control', 'no-store');
      const path = request.method === 'GET' ? request.url?.split('?', 1)[0] : undefined;
      if (path === '/healthz' && isServing !== undefined) {
        response.writeHead(isServing() ? 200 : 503).end();
        return;
      }
      if (path !== '/metrics') {
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
