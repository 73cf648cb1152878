/** A provider over TLS in the shapes of Keycloak, Okta and Entra ID, and sign-ins at it. */

import { discovery, type ProviderLocation } from '../../../adapters/identity-provider/discovery.ts';
import { serviceAssertion } from '../../../adapters/identity-provider/service-token.ts';
import { signIn } from '../../../adapters/identity-provider/sign-in.ts';
import type { SignInClient } from '../../../adapters/identity-provider/sign-in-client.ts';
import { providerKeys } from '../../../adapters/jose/provider-keys.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { SignIn, SignInAttempt, SignInOutcome } from '../../../application/ports/identity-provider.ts';
import type { Network } from '../../../application/ports/network.ts';
import { Secret } from '../../../domain/secret.ts';
import { type CapturedLog, capturedLog } from '../captured-log.ts';
import { answering, loopbackForSuite, testTrust } from '../loopback.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';

export type Members = Readonly<Record<string, unknown>>;

export const CLIENT = 'mandate-page';
export const REDIRECT = 'https://mandate.test/me/callback';
export const SIGNED_OUT = 'https://mandate.test/me/signed-out';
const TENANT = '7b1f1c1e-3a55-4b1e-9a52-0c2d7f3b6a10';

/** The metadata that each provider publishes, and the unusual claims of its ID tokens. */
export const SHAPES: Readonly<
  Record<string, { path: string; metadata: (issuer: string) => Members; claims: Members }>
> = {
  Keycloak: {
    path: '/realms/main',
    metadata: (issuer) => ({
      authorization_endpoint: `${issuer}/protocol/openid-connect/auth`,
      token_endpoint: `${issuer}/protocol/openid-connect/token`,
      end_session_endpoint: `${issuer}/protocol/openid-connect/logout`,
      response_types_supported: ['code', 'none', 'id_token', 'code id_token'],
      id_token_signing_alg_values_supported: ['PS384', 'RS384', 'EdDSA', 'ES384', 'HS256', 'RS256', 'ES256'],
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['plain', 'S256'],
      authorization_response_iss_parameter_supported: true,
      mtls_endpoint_aliases: { token_endpoint: `${issuer}/protocol/openid-connect/token` },
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    }),
    claims: { typ: 'ID', azp: CLIENT, acr: '1', sid: 'keycloak-session', email_verified: true },
  },
  Okta: {
    path: '/oauth2/default',
    metadata: (issuer) => ({
      authorization_endpoint: `${issuer}/v1/authorize`,
      token_endpoint: `${issuer}/v1/token`,
      end_session_endpoint: `${issuer}/v1/logout`,
      response_types_supported: ['code', 'id_token', 'code id_token', 'code token', 'id_token token'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
      code_challenge_methods_supported: ['S256'],
    }),
    claims: { ver: 1, amr: ['pwd', 'mfa'], idp: '00o1a2b3c4', at_hash: 'x'.repeat(22) },
  },
  'Entra ID': {
    path: `/${TENANT}/v2.0`,
    metadata: (issuer) => ({
      authorization_endpoint: issuer.replace('/v2.0', '/oauth2/v2.0/authorize'),
      token_endpoint: issuer.replace('/v2.0', '/oauth2/v2.0/token'),
      end_session_endpoint: issuer.replace('/v2.0', '/oauth2/v2.0/logout'),
      response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
      subject_types_supported: ['pairwise'],
      frontchannel_logout_supported: true,
    }),
    claims: { ver: '2.0', tid: TENANT, oid: 'object-7', rh: '0.AX', uti: 'u', preferred_username: 'ada@example.org' },
  },
};

interface Idp {
  clock: MovedClock;
  log: CapturedLog;
  /** Signs the ID tokens. */
  key: SigningKey;
  /** `body`: the whole answer of the token endpoint, in place of its members. */
  provider: {
    metadata: Members;
    claims: Members;
    answer: Members;
    body?: string;
    status: number;
    issuer: string;
  };
}

export const attempt = {
  state: 's'.repeat(43),
  nonce: 'n'.repeat(43),
  codeVerifier: 'v'.repeat(43),
  maxAge: undefined,
};
export const secret = new Secret('a secret:%');
/** Where a sign-in sends the browser. */
export async function addressOf(signing: SignIn, begun: SignInAttempt = attempt): Promise<URL> {
  const beginning = await signing.begin(begun);
  if (beginning.kind === 'refused') throw new Error(beginning.reason);
  return new URL(beginning.address);
}
export const refused = (reason: string) => ({ kind: 'refused', reason });

export function providerForSuite() {
  const server = loopbackForSuite(answering({}), { tls: true });
  const idp = {} as Idp;
  let assertion: ReturnType<typeof serviceAssertion>;

  before(async () => {
    idp.key = await makeSigningKey('RS256');
    const chosen = await signingKeys([await generateSigningKey()], undefined);
    if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
    assertion = serviceAssertion(chosen.signingKeys, movedClock(), systemRandomness());
  });
  beforeEach(() => {
    idp.clock = movedClock();
    idp.log = capturedLog();
  });

  /** A provider of this shape, with other members. */
  function shaped(name = 'Keycloak', changes: Members = {}): void {
    const { path, metadata, claims } = SHAPES[name] ?? { path: '', metadata: () => ({}), claims: {} };
    const issuer = `${server.url}${path}`;
    const now = idp.clock.seconds();
    idp.provider = {
      issuer,
      status: 200,
      answer: {},
      metadata: { issuer, jwks_uri: `${server.url}/keys`, ...metadata(issuer), ...changes },
      claims: {
        iss: issuer,
        aud: CLIENT,
        sub: 'ada',
        iat: now,
        exp: now + 300,
        nonce: attempt.nonce,
        auth_time: now - 20,
        ...claims,
      },
    };
    server.answer = (request, response) => {
      const { kty, n, e } = idp.key.privateJwk;
      const idToken = () => idp.key.sign({ alg: idp.key.alg, kid: idp.key.kid, typ: 'JWT' }, idp.provider.claims);
      if (request.path.includes('/.well-known/')) answering(idp.provider.metadata)(request, response);
      else if (request.path === '/keys') {
        answering({ keys: [{ kty, n, e, kid: idp.key.kid, alg: idp.key.alg, use: 'sig' }] })(request, response);
      } else {
        const tokens = { access_token: 'opaque', token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599 };
        const members = { ...tokens, id_token: idToken(), ...idp.provider.answer };
        if (idp.provider.body === undefined) answering(members, idp.provider.status)(request, response);
        else response.writeHead(idp.provider.status, { 'content-type': 'text/html' }).end(idp.provider.body);
      }
    };
  }

  function page(
    changes: Partial<SignInClient> = {},
    location: ProviderLocation = { kind: 'issuer', issuer: idp.provider.issuer },
    metadata = discovery(location, httpNetwork({ secureContext: testTrust }), idp.log),
    network: Network = httpNetwork({ secureContext: testTrust }),
  ): SignIn {
    return signIn(
      {
        clientId: CLIENT,
        clientSecret: undefined,
        assertionAudience: 'issuer',
        pushedAuthorization: 'auto',
        redirectUri: REDIRECT,
        signedOutUri: SIGNED_OUT,
        sponsorKeyClaim: 'sub',
        ...changes,
      },
      {
        metadata,
        network,
        clock: idp.clock,
        log: idp.log,
        assertion,
        providerKeys: providerKeys(metadata, network, idp.clock, idp.log),
      },
    );
  }
  const answerOf = (changes: Record<string, string> = {}): string =>
    `?${new URLSearchParams({ code: 'a-code', state: attempt.state, iss: idp.provider.issuer, ...changes })}`;
  const finish = (signing = page(), query = answerOf(), maxAge?: number): Promise<SignInOutcome> =>
    signing.finish({ ...attempt, maxAge }, query);
  const tokenRequest = () => server.received.find(({ method }) => method === 'POST');

  return Object.assign(idp, { server, shaped, page, answerOf, finish, tokenRequest });
}
