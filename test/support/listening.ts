/** Lets a test's server listen on loopback, by default on a free port. */

import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';

/** Resolves with the port once the server listens. @throws the server's error */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Stops the server and closes all its connections. */
export async function closeServer(server: Pick<HttpServer, 'listening' | 'close' | 'closeAllConnections'>) {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
