/**
 * The peer, a child process: `oidc-provider` with its state in memory. It answers client_credentials requests with
 * `private_key_jwt` (ES256) by a signed access token (ES256). It stores no token and has no ledger.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { JWK } from 'oidc-provider';
import { providerLibrary } from '../../test/support/identity-provider/provider-library.ts';
import { makeSigningKey } from '../../test/support/signing-key.ts';

/** The configuration from the parent process: JSON in the environment variable `BENCH_PEER`. */
export interface PeerSetup {
  readonly clientId: string;
  readonly clientJwk: JWK;
  readonly resource: string;
  readonly scope: string;
}

/** The message to the parent process when the server listens. */
export interface PeerListening {
  readonly port: number;
}

async function main(): Promise<void> {
  const setup: PeerSetup = JSON.parse(process.env.BENCH_PEER ?? '');
  const { kty, crv, x, y, d } = (await makeSigningKey('ES256')).privateJwk;
  // The TypeScript loader enabled source maps, which cost CPU.
  process.setSourceMapsEnabled(false);
  // The library prints advice for production.
  console.warn = () => undefined;
  console.info = () => undefined;
  const { Provider } = await providerLibrary();

  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('a listening socket has no port');
  }

  const provider = new Provider(`http://127.0.0.1:${address.port}`, {
    jwks: { keys: [{ kty, crv, x, y, d, use: 'sig', alg: 'ES256' }] },
    clients: [
      {
        client_id: setup.clientId,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'private_key_jwt',
        id_token_signed_response_alg: 'ES256',
        jwks: { keys: [setup.clientJwk] },
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: setup.scope,
          audience: setup.resource,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  const listening: PeerListening = { port: address.port };
  process.send?.(listening);
  process.once('disconnect', () => process.exit(0));
}

await main();
