/**
 * A baseline for polls: a child process with Node's own HTTP server, which answers every request with one text, and a
 * request with `If-None-Match` with 304. It sends its port to the parent process.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The service keeps an idle connection for the same time. */
const KEEP_ALIVE_MS = 65_000;
/** The status list of the benchmark has the same length. */
const BODY = 'x'.repeat(19_255);

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, ({ headers }, response) => {
  const isKnown = headers['if-none-match'] !== undefined;
  response.writeHead(isKnown ? 304 : 200, { etag: '"x"' });
  response.end(isKnown ? undefined : BODY);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
// The TypeScript loader has enabled source maps, which cost CPU.
process.setSourceMapsEnabled(false);
