/**
 * A peer, a server to compare with: a child process with `oidc-provider`. There are two.
 *
 * - In memory: it answers client_credentials requests with `private_key_jwt` (ES256) by an ES256 access token. It stores
 *   only the assertion's id, in memory.
 * - That stores: it answers token exchanges with `private_key_jwt` (ES256) for a person's access token (RS256). It verifies
 *   both, commits the assertion's id, a grant and a refresh token to its database, and signs an ES256 access token.
 *
 * Neither has a ledger, and neither has rules about who may act for whom.
 */

import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import type { Configuration, errors, JWK, Provider, ResourceServer, TokenEndpointGrantContext } from 'oidc-provider';
import { providerLibrary } from '../../test/support/identity-provider/provider-library.ts';
import { makeSigningKey } from '../../test/support/signing-key.ts';
import { openPeerStorage, type PeerDatabase } from './peer-storage.ts';

/** The parent process passes it as JSON in the environment variable `BENCH_PEER`. */
export interface PeerSetup {
  readonly port: number;
  readonly clientId: string;
  readonly clientJwk: JWK;
  readonly resource: string;
  readonly scope: string;
  /** `undefined` for the peer in memory. */
  readonly stores:
    | {
        readonly database: PeerDatabase;
        /** The provider of the people's tokens. */
        readonly upstream: { readonly issuer: string; readonly audience: string };
      }
    | undefined;
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

async function main(): Promise<void> {
  const setup: PeerSetup = JSON.parse(process.env.BENCH_PEER ?? '');
  const { kty, crv, x, y, d } = (await makeSigningKey('ES256')).privateJwk;
  // The TypeScript loader has enabled source maps, which cost CPU.
  process.setSourceMapsEnabled(false);
  // Silences the library's advice for production.
  console.warn = () => undefined;
  console.info = () => undefined;
  const { Provider, errors } = await providerLibrary();

  const configuration: Configuration = {
    jwks: { keys: [{ kty, crv, x, y, d, use: 'sig', alg: 'ES256' }] },
    clients: [
      {
        client_id: setup.clientId,
        redirect_uris: [],
        response_types: [],
        grant_types: setup.stores === undefined ? ['client_credentials'] : [TOKEN_EXCHANGE],
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
        getResourceServerInfo: () => resourceServerOf(setup),
      },
    },
  };
  if (setup.stores !== undefined) configuration.adapter = (await openPeerStorage(setup.stores.database)).adapter;
  const provider = new Provider(`http://127.0.0.1:${setup.port}`, configuration);
  if (setup.stores !== undefined) exchangeTokens(provider, setup, setup.stores, errors);
  createServer(provider.callback()).listen(setup.port, '127.0.0.1', () => process.send?.('listening'));
  process.once('disconnect', () => process.exit(0));
}

function resourceServerOf({ scope, resource }: PeerSetup): ResourceServer {
  return {
    scope,
    audience: resource,
    accessTokenTTL: 300,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  };
}

interface ExchangeParameters {
  readonly subject_token?: string;
  readonly subject_token_type?: string;
  readonly scope?: string;
  readonly resource?: string;
}

/** RFC 8693, as a grant type of the library. The library has authenticated the client before. */
function exchangeTokens(
  provider: Provider,
  setup: PeerSetup,
  { upstream: { issuer, audience } }: NonNullable<PeerSetup['stores']>,
  { InvalidRequest, InvalidTarget }: typeof errors,
): void {
  const { resource, scope: allowed } = setup;
  const resourceServer = resourceServerOf(setup);
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const subjectOf = async (token: string): Promise<string> => {
    const options = { issuer, audience, typ: 'at+jwt', requiredClaims: ['sub', 'exp'] };
    const { payload } = await jwtVerify(token, keys, options).catch(() => {
      throw new InvalidRequest('subject_token is not valid');
    });
    return String(payload.sub);
  };
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (context: TokenEndpointGrantContext<ExchangeParameters>) => {
      const { client, params } = context.oidc;
      if (params.subject_token === undefined || params.subject_token_type !== ACCESS_TOKEN) {
        throw new InvalidRequest('subject_token and its type are required');
      }
      if (params.resource !== resource) throw new InvalidTarget();
      const accountId = await subjectOf(params.subject_token);
      const known = allowed.split(' ');
      const scope = (params.scope ?? '')
        .split(' ')
        .filter((one) => known.includes(one))
        .join(' ');

      const grant = new provider.Grant({ accountId, clientId: client.clientId });
      grant.addResourceScope(resource, scope);
      const grantId = await grant.save();
      const common = { accountId, client, grantId, gty: TOKEN_EXCHANGE, scope };
      const refreshToken = await new provider.RefreshToken({ ...common, resource }).save();
      const accessToken = new provider.AccessToken(common);
      accessToken.resourceServer = new provider.ResourceServer(resource, resourceServer);
      const value = await accessToken.save();

      context.body = {
        access_token: value,
        issued_token_type: ACCESS_TOKEN,
        token_type: 'Bearer',
        expires_in: accessToken.expiration,
        refresh_token: refreshToken,
        scope,
      };
    },
    ['subject_token', 'subject_token_type', 'scope', 'resource'],
  );
}

await main();
