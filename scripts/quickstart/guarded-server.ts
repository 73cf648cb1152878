/** A tool server of the quickstart, which listens on this machine. */

import { createServer, type RequestListener } from 'node:http';

export interface GuardedServer {
  /** The audience of its tokens. */
  readonly audience: string;
  /** Where it listens. A replica has another address, and the same audience. */
  readonly address: string;
  stop(): Promise<void>;
}

export async function serve(app: RequestListener, address: string, audience = address): Promise<GuardedServer> {
  const server = createServer(app);
  const { hostname, port } = new URL(address);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), hostname, resolve);
  });
  return {
    audience,
    address,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
