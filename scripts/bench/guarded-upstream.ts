/**
 * A child process that the guard stands in front of: Node's own HTTP server, which answers each request with one text. It
 * sends its port to the parent process.
 *
 *     guarded-upstream.ts <answer>
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [answer = ''] = process.argv.slice(2);
/** Longer than the pauses between two measurements. */
const KEEP_ALIVE_MS = 65_000;

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
// The TypeScript loader has enabled source maps, which cost CPU.
process.setSourceMapsEnabled(false);
