/**
 * A baseline for the guard: a child process that passes every request on with Node's own client, and streams the answer back.
 * It decides nothing, changes no header, and has no time limits. It sends its port to the parent process.
 *
 *     bare-proxy.ts <origin of the upstream>
 */

import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

const [origin = ''] = process.argv.slice(2);
const { hostname, port } = new URL(origin);
const agent = new Agent({ keepAlive: true });

const server = createServer((request, response) => {
  const { method = '', url: path = '', rawHeaders: headers } = request;
  const sent = send({ hostname, port, method, path, headers, agent, setHost: false });
  sent.on('response', (answer) => {
    const { statusCode = 0, rawHeaders } = answer;
    response.writeHead(statusCode, rawHeaders);
    answer.pipe(response);
  });
  sent.on('error', () => response.destroy());
  response.on('close', () => {
    if (!response.writableFinished) sent.destroy();
  });
  sent.end();
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
// The TypeScript loader has enabled source maps, which cost CPU.
process.setSourceMapsEnabled(false);
