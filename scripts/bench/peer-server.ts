/**
 * The peer, a server to compare with: a child process with `oidc-provider`, whose state is in memory. It answers
 * client_credentials requests with `private_key_jwt` (ES256) by an ES256 access token. It has no ledger.
 */

import { createServer } from 'node:http';
import type { JWK } from 'oidc-provider';
import { providerLibrary } from '../../test/support/identity-provider/provider-library.ts';
import { makeSigningKey } from '../../test/support/signing-key.ts';

/** The parent process passes it as JSON in the environment variable `BENCH_PEER`. */
export interface PeerSetup {
  readonly port: number;
  readonly clientId: string;
  readonly clientJwk: JWK;
  readonly resource: string;
  readonly scope: string;
}

async function main(): Promise<void> {
  const setup: PeerSetup = JSON.parse(process.env.BENCH_PEER ?? '');
  const { kty, crv, x, y, d } = (await makeSigningKey('ES256')).privateJwk;
  // The TypeScript loader has enabled source maps, which cost CPU.
  process.setSourceMapsEnabled(false);
  // Silences the library's advice for production.
  console.warn = () => undefined;
  console.info = () => undefined;
  const { Provider } = await providerLibrary();

  const provider = new Provider(`http://127.0.0.1:${setup.port}`, {
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
  createServer(provider.callback()).listen(setup.port, '127.0.0.1', () => process.send?.('listening'));
  process.once('disconnect', () => process.exit(0));
}

await main();
