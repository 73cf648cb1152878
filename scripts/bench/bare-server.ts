/**
 * The least that a poll can cost: a child process with Node's own HTTP server, which answers every request from one text.
 * A request with `If-None-Match` is answered 304. The parent process gets the port as a message.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** As long as the service keeps an idle connection. */
const KEEP_ALIVE_MS = 65_000;
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
