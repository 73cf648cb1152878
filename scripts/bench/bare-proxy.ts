/**
 * A baseline for the guard: a child process that passes every request on with undici, and streams the answer back. It decides
 * nothing, changes no header, and has no time limits. It sends its port to the parent process.
 *
 *     bare-proxy.ts <origin of the upstream>
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dispatcher, Pool } from 'undici';

const [origin = ''] = process.argv.slice(2);
const pool = new Pool(origin, { allowH2: false, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

const server = createServer((request, response) => {
  const { method = '', url: path = '', rawHeaders: headers } = request;
  let controller: Dispatcher.DispatchController | undefined;
  response.on('drain', () => controller?.resume());
  response.on('close', () => {
    if (!response.writableFinished) controller?.abort(new Error('The client has left.'));
  });
  pool.dispatch(
    { method: method as Dispatcher.HttpMethod, path, headers },
    {
      onRequestStart(started) {
        controller = started;
      },
      onResponseStart(_, status, fields) {
        response.writeHead(status, fields);
      },
      onResponseData(_, chunk) {
        if (!response.write(chunk)) controller?.pause();
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        response.destroy();
      },
    },
  );
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
// The TypeScript loader has enabled source maps, which cost CPU.
process.setSourceMapsEnabled(false);
