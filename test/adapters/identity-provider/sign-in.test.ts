/** The sign-in with metadata and ID tokens in the shapes of Keycloak, Okta and Entra ID, over TLS. */

import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { discovery, type ProviderLocation } from '../../../adapters/identity-provider/discovery.ts';
import { serviceAssertion } from '../../../adapters/identity-provider/service-token.ts';
import { type SignInClient, signIn } from '../../../adapters/identity-provider/sign-in.ts';
import { providerKeys } from '../../../adapters/jose/provider-keys.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { SignIn, SignInOutcome } from '../../../application/ports/identity-provider.ts';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { Secret } from '../../../domain/secret.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { answering, loopbackForSuite, startLoopback, testAuthority } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';

type Members = Readonly<Record<string, unknown>>;

const CLIENT = 'mandate-page';
const REDIRECT = 'https://mandate.test/me/callback';
const TENANT = '7b1f1c1e-3a55-4b1e-9a52-0c2d7f3b6a10';

/** What each provider publishes, and what its ID tokens hold beside the usual claims. */
const SHAPES: Readonly<Record<string, { path: string; metadata: (issuer: string) => Members; claims: Members }>> = {
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

describe('The sign-in', () => {
  const server = loopbackForSuite(answering({}), { tls: true });
  const attempt = { state: 's'.repeat(43), nonce: 'n'.repeat(43), codeVerifier: 'v'.repeat(43), maxAge: undefined };
  const secrets = { none: undefined, secret: new Secret('a secret:%') } as const;
  let clock: MovedClock;
  let log: CapturedLog;
  let key: SigningKey;
  let assertion: ReturnType<typeof serviceAssertion>;
  let provider: { metadata: Members; claims: Members; answer: Members; status: number; issuer: string };

  before(async () => {
    key = await makeSigningKey('RS256');
    const chosen = await signingKeys([await generateSigningKey()], undefined);
    if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
    assertion = serviceAssertion(chosen.signingKeys, movedClock(), systemRandomness());
  });
  beforeEach(() => {
    clock = movedClock();
    log = capturedLog();
  });

  /** A provider of this shape, with other members. */
  function shaped(name = 'Keycloak', changes: Members = {}): void {
    const { path, metadata, claims } = SHAPES[name] ?? { path: '', metadata: () => ({}), claims: {} };
    const issuer = `${server.url}${path}`;
    const now = clock.seconds();
    provider = {
      ...{ issuer, status: 200, answer: {} },
      metadata: { issuer, jwks_uri: `${server.url}/keys`, ...metadata(issuer), ...changes },
      claims: {
        ...{
          iss: issuer,
          aud: CLIENT,
          sub: 'ada',
          iat: now,
          exp: now + 300,
          nonce: attempt.nonce,
          auth_time: now - 20,
        },
        ...claims,
      },
    };
    server.answer = (request, response) => {
      const { kty, n, e } = key.privateJwk;
      const idToken = () => key.sign({ alg: key.alg, kid: key.kid, typ: 'JWT' }, provider.claims);
      if (request.path.includes('/.well-known/')) answering(provider.metadata)(request, response);
      else if (request.path === '/keys') {
        answering({ keys: [{ kty, n, e, kid: key.kid, alg: key.alg, use: 'sig' }] })(request, response);
      } else {
        const tokens = { access_token: 'opaque', token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599 };
        answering({ ...tokens, id_token: idToken(), ...provider.answer }, provider.status)(request, response);
      }
    };
  }

  function page(
    changes: Partial<SignInClient> = {},
    location: ProviderLocation = { kind: 'issuer', issuer: provider.issuer },
  ): SignIn {
    const network = httpNetwork({ ca: testAuthority });
    const metadata = discovery(location, network, log);
    return signIn(
      {
        ...{ clientId: CLIENT, clientSecret: undefined, assertionAudience: 'issuer', redirectUri: REDIRECT },
        ...{ sponsorKeyClaim: 'sub', ...changes },
      },
      { metadata, network, clock, log, assertion, providerKeys: providerKeys(metadata, network, clock, log) },
    );
  }
  const answerOf = (changes: Record<string, string> = {}): string =>
    `?${new URLSearchParams({ code: 'a-code', state: attempt.state, iss: provider.issuer, ...changes })}`;
  const finish = (signing = page(), query = answerOf(), maxAge?: number): Promise<SignInOutcome> =>
    signing.finish({ ...attempt, maxAge }, query);
  const refused = (reason: string) => ({ kind: 'refused', reason });
  const tokenRequest = () => server.received.find(({ method }) => method === 'POST');

  for (const [name, { claims }] of Object.entries(SHAPES)) {
    describe(`at a provider shaped like ${name}`, () => {
      it('begins at its endpoint and signs the person in, with private_key_jwt', async () => {
        shaped(name);
        const signing = page();
        const begun = new URL((await signing.begin(attempt)) ?? '');
        expect(`${begun.origin}${begun.pathname}`).to.equal(provider.metadata.authorization_endpoint);
        expect(Object.fromEntries(begun.searchParams)).to.deep.equal({
          ...{ client_id: CLIENT, response_type: 'code', redirect_uri: REDIRECT, scope: 'openid' },
          ...{ state: attempt.state, nonce: attempt.nonce, code_challenge_method: 'S256' },
          code_challenge: createHash('sha256').update(attempt.codeVerifier).digest('base64url'),
        });
        expect(await finish(signing)).to.deep.equal({
          kind: 'signed_in',
          person: {
            ...{ subject: 'ada', sponsorKey: 'ada', sessionId: claims.sid },
            authenticatedAt: instantFromSeconds(Number(provider.claims.auth_time)),
          },
          issuedAt: instantFromSeconds(Number(provider.claims.iat)),
          issuer: provider.issuer,
          claims: provider.claims,
        });
        const request = tokenRequest();
        expect(`${server.url}${request?.path}`).to.equal(provider.metadata.token_endpoint);
        const { client_assertion = '', ...form } = Object.fromEntries(new URLSearchParams(request?.body));
        expect(form).to.deep.equal({
          ...{ grant_type: 'authorization_code', code: 'a-code', redirect_uri: REDIRECT, client_id: CLIENT },
          code_verifier: attempt.codeVerifier,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        });
        const claimed = readCompactJws(client_assertion)?.claims;
        expect(claimed).to.include({ iss: CLIENT, sub: CLIENT, aud: provider.issuer });
        expect(await signing.signOutAddress()).to.equal(
          `${provider.metadata.end_session_endpoint}?client_id=${CLIENT}`,
        );
      });

      it('authenticates by its client secret in a header, where it offers no other way', async () => {
        shaped(name, { token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'] });
        expect((await finish(page({ clientSecret: secrets.secret }))).kind).to.equal('signed_in');
        const basic = Buffer.from(`${CLIENT}:a%20secret%3A%25`).toString('base64');
        expect(tokenRequest()?.headers.authorization).to.equal(`Basic ${basic}`);
        expect(tokenRequest()?.body).not.to.include('secret');
      });
    });
  }

  it('puts the secret into the form, and not into a header, where the provider offers that', async () => {
    for (const methods of [['client_secret_post'], ['client_secret_basic', 'client_secret_post']]) {
      shaped('Keycloak', { token_endpoint_auth_methods_supported: methods });
      server.received.length = 0;
      expect((await finish(page({ clientSecret: secrets.secret }))).kind).to.equal('signed_in');
      expect(new URLSearchParams(tokenRequest()?.body).get('client_secret')).to.equal('a secret:%');
      expect(tokenRequest()?.headers).not.to.have.property('authorization');
    }
  });

  it('encodes in a header all characters but the unreserved ones', async () => {
    shaped('Keycloak', { token_endpoint_auth_methods_supported: undefined });
    const clientSecret = new Secret("Az09-._~:/?#[]@!$&'()*+,;=% é");
    expect((await finish(page({ clientSecret }))).kind).to.equal('signed_in');
    const sent = String(tokenRequest()?.headers.authorization).replace(/^Basic /, '');
    expect(Buffer.from(sent, 'base64').toString()).to.equal(
      `${CLIENT}:Az09-._~%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%25%20%C3%A9`,
    );
  });

  it("signs the assertion for the provider's token endpoint, where that is configured", async () => {
    shaped();
    expect((await finish(page({ assertionAudience: 'token_endpoint' }))).kind).to.equal('signed_in');
    const assertion = new URLSearchParams(tokenRequest()?.body).get('client_assertion') ?? '';
    expect(readCompactJws(assertion)?.claims.aud).to.equal(provider.metadata.token_endpoint);
  });

  it("logs the provider's error, unless it repeats the secret", async () => {
    const clientSecret = new Secret('q'.repeat(40));
    for (const [error, isShown] of [
      ['invalid_client', true],
      [`bad_${'q'.repeat(20)}`, false],
    ] as const) {
      shaped();
      provider.status = 400;
      provider.answer = { error };
      expect(await finish(page({ clientSecret }))).to.deep.equal(refused('sign_in_refused'));
      expect(log.lines.join('\n').includes(error)).to.equal(isShown);
    }
  });

  it('names the person by the claim of the sponsor key, as Entra ID needs it, and asks for its scope', async () => {
    shaped('Entra ID');
    const signing = page({ sponsorKeyClaim: 'oid' });
    const begun = new URL((await signing.begin(attempt)) ?? '');
    expect(begun.searchParams.get('scope')).to.equal('openid profile email');
    const outcome = await finish(signing);
    expect(outcome).to.have.nested.property('person.sponsorKey', 'object-7');
    expect(outcome).to.have.nested.property('person.subject', 'ada');
  });

  it('asks for no scope of claims that the provider does not list, because some refuse the sign-in for it', async () => {
    shaped('Entra ID', { scopes_supported: ['openid', 'email', 'offline_access', 'roles'] });
    const begun = new URL((await page({ sponsorKeyClaim: 'oid', moreClaims: ['roles'] }).begin(attempt)) ?? '');
    expect(begun.searchParams.get('scope')).to.equal('openid email roles');
  });

  const claims: Readonly<Record<string, (now: number) => Members>> = {
    'for another client': () => ({ aud: 'people-desk' }),
    'for several clients, used by another': () => ({ aud: [CLIENT, 'people-desk'], azp: 'people-desk' }),
    'for this client alone, used by another': () => ({ azp: 'people-desk' }),
    'of another issuer': () => ({ iss: 'https://other.example' }),
    'that is over': (now) => ({ iat: now - 900, exp: now - 300 }),
    'without a nonce': () => ({ nonce: undefined }),
    'with the nonce of another sign-in': () => ({ nonce: 'x'.repeat(43) }),
    'of an agent': () => ({ sub: 'AGENT:jira-triage' }),
    'of the client itself': () => ({ sub: CLIENT, azp: CLIENT }),
    'of a grant without a user': () => ({ gty: 'client-credentials' }),
    'that is delegated': () => ({ act: { sub: 'agent:jira-triage' } }),
    'without a person': () => ({ sub: undefined }),
    'whose sid no logout could name': () => ({ sid: 7 }),
  };
  for (const [what, change] of Object.entries(claims)) {
    it(`refuses an ID token ${what}`, async () => {
      shaped();
      provider.claims = { ...provider.claims, ...change(clock.seconds()) };
      expect(await finish()).to.deep.equal(refused('sign_in_refused'));
      expect(log.lines.join('\n')).to.include('A sign-in was refused.').and.not.include('eyJ');
    });
  }

  it('refuses an ID token that another key signed, is not signed, or is missing', async () => {
    shaped();
    const foreign = await makeSigningKey('RS256');
    const unsigned = [{ alg: 'none' }, provider.claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    for (const id_token of [
      foreign.sign({ alg: 'RS256', kid: key.kid, typ: 'JWT' }, provider.claims),
      `${unsigned.join('.')}.`,
      undefined,
    ]) {
      provider.answer = { id_token };
      expect(await finish()).to.deep.equal(refused('sign_in_refused'));
    }
  });

  it('refuses an answer that does not name the issuer, if the provider always does (RFC 9207)', async () => {
    shaped();
    expect(await finish(page(), `?code=a-code&state=${attempt.state}`)).to.deep.equal(refused('sign_in_refused'));
    expect(tokenRequest()).to.equal(undefined);
  });

  describe('within a time since the person entered credentials', () => {
    const withAge = (auth_time: number | undefined) => {
      shaped();
      provider.claims = { ...provider.claims, auth_time };
      return finish(page(), answerOf(), 300);
    };

    it('asks for it, and accepts an authentication of that age, or by a clock that is a little ahead', async () => {
      shaped();
      const begun = new URL((await page().begin({ ...attempt, maxAge: 300 })) ?? '');
      expect(begun.searchParams.get('max_age')).to.equal('300');
      expect((await withAge(clock.seconds() - 300)).kind).to.equal('signed_in');
      const ahead = await withAge(clock.seconds() + 30);
      if (ahead.kind !== 'signed_in') throw new Error(ahead.reason);
      expect(ahead.person.authenticatedAt).to.be.at.most(clock.now());
    });

    it('refuses an older one, one far in the future, and a provider that does not say when', async () => {
      expect(await withAge(clock.seconds() - 400)).to.deep.equal(refused('sign_in_too_old'));
      expect(await withAge(clock.seconds() + 90)).to.deep.equal(refused('sign_in_too_old'));
      expect(await withAge(undefined)).to.deep.equal(refused('sign_in_too_old'));
    });
  });

  describe('says that the provider is unavailable', () => {
    const unavailable = refused('provider_unavailable');

    it('if its metadata is not there, or names no usable endpoint', async () => {
      for (const change of [
        { issuer: 'https://other.example' },
        { authorization_endpoint: undefined },
        { token_endpoint: 'http://idp.example/token' },
        { authorization_endpoint: 'javascript:alert(1)' },
      ]) {
        shaped('Keycloak', change);
        expect(await page().begin(attempt)).to.equal(undefined);
        expect(await finish()).to.deep.equal(unavailable);
        expect(await page().signOutAddress()).to.equal(undefined);
      }
    });

    it('if a document that was read over https names an http issuer and http endpoints: the secret would be readable', async () => {
      const plain = await startLoopback(answering({}));
      const endpoints = { token_endpoint: `${plain.url}/token`, authorization_endpoint: `${plain.url}/authorize` };
      shaped('Keycloak', { issuer: plain.url, ...endpoints, end_session_endpoint: `${plain.url}/logout` });
      const url = `${provider.issuer}/.well-known/openid-configuration`;
      const signing = page({ clientSecret: secrets.secret }, { kind: 'metadata_url', url });
      expect(await signing.begin(attempt)).to.equal(undefined);
      expect(await finish(signing, answerOf({ iss: plain.url }))).to.deep.equal(unavailable);
      expect(await signing.signOutAddress()).to.equal(undefined);
      expect(plain.received).to.deep.equal([]);
      await plain.close();
    });

    it('if its token endpoint fails or is busy', async () => {
      for (const status of [500, 503, 429]) {
        shaped();
        provider.status = status;
        expect(await finish(), `${status}`).to.deep.equal(unavailable);
      }
    });

    it('if it says so', async () => {
      shaped();
      for (const error of ['temporarily_unavailable', 'server_error']) {
        expect(await finish(page(), answerOf({ error })), error).to.deep.equal(unavailable);
      }
    });

    it('if its keys are not there', async () => {
      shaped('Keycloak', { jwks_uri: `${server.url.replace(/\d+$/, '9')}/keys` });
      expect(await finish()).to.deep.equal(unavailable);
    });
  });

  it('logs the OAuth code of a refusal, and nothing else that the provider sent', async () => {
    shaped();
    const secret = `secret-${randomUUID()}`;
    provider.status = 401;
    provider.answer = { error: 'invalid_client', error_description: secret };
    expect(await finish()).to.deep.equal(refused('sign_in_refused'));
    expect(log.lines.join('\n')).to.include('invalid_client').and.not.include(secret);
  });

  it('leads to no sign-out at a provider that has none', async () => {
    shaped('Keycloak', { end_session_endpoint: undefined });
    expect(await page().signOutAddress()).to.equal(undefined);
  });
});
