/** A tool server of the quickstart, which listens on this machine. */

import { createServer, type RequestListener } from 'node:http';

export interface GuardedServer {
  /** The server's address, which is the audience of its tokens. */
  readonly audience: string;
  stop(): Promise<void>;
}

export async function serve(app: RequestListener, audience: string): Promise<GuardedServer> {
  const server = createServer(app);
  const { hostname, port } = new URL(audience);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), hostname, resolve);
  });
  return {
    audience,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
