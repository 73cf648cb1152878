/**
 * A child process that the guard stands in front of: Node's own HTTP server. `/events` is a stream of server-sent events that
 * is silent after the first one, every other path has a short answer. It sends its port to the parent process.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FIRST_EVENT, SHORT_ANSWER } from './guarded-answers.ts';

/** Longer than the pauses between two measurements. */
const KEEP_ALIVE_MS = 65_000;

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, ({ url }, response) => {
  if (url === '/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(FIRST_EVENT);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(SHORT_ANSWER);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
// The TypeScript loader has enabled source maps, which cost CPU.
process.setSourceMapsEnabled(false);
