/** An https server on loopback that publishes key sets of agents and counts the requests. */

import { freePort } from '../../scripts/free-port.ts';
import { answering, type Loopback, startLoopback } from './loopback.ts';

export interface KeyServer {
  /** Publishes a key set. Resolves with its URI. */
  serve(jwks: object): Promise<string>;
  /** Resolves with a URI at which no server listens. */
  unusedUri(): Promise<string>;
  requests(uri: string): number;
  stop(): Promise<void>;
}

export async function startKeyServer(): Promise<KeyServer> {
  const sets = new Map<string, object>();
  const server: Loopback = await startLoopback(
    (request, response) => {
      const jwks = sets.get(request.path);
      answering(jwks ?? {}, jwks === undefined ? 404 : 200)(request, response);
    },
    { tls: true },
  );
  return {
    async serve(jwks) {
      const path = `/${sets.size}/jwks.json`;
      sets.set(path, jwks);
      return `${server.url}${path}`;
    },
    unusedUri: async () => `https://127.0.0.1:${await freePort()}/jwks.json`,
    requests: (uri) => server.received.filter((request) => `${server.url}${request.path}` === uri).length,
    stop: () => server.close(),
  };
}
