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
import type { SignIn, SignInDenial, SignInOutcome } from '../../../application/ports/identity-provider.ts';
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
const SIGNED_OUT = 'https://mandate.test/me/signed-out';
const TENANT = '7b1f1c1e-3a55-4b1e-9a52-0c2d7f3b6a10';

/** The metadata that each provider publishes, and the unusual claims of its ID tokens. */
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
  /** `body`: the whole answer of the token endpoint, in place of its members. */
  let provider: {
    metadata: Members;
    claims: Members;
    answer: Members;
    body?: string;
    status: number;
    issuer: string;
  };

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
      const { kty, n, e } = key.privateJwk;
      const idToken = () => key.sign({ alg: key.alg, kid: key.kid, typ: 'JWT' }, provider.claims);
      if (request.path.includes('/.well-known/')) answering(provider.metadata)(request, response);
      else if (request.path === '/keys') {
        answering({ keys: [{ kty, n, e, kid: key.kid, alg: key.alg, use: 'sig' }] })(request, response);
      } else {
        const tokens = { access_token: 'opaque', token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599 };
        const members = { ...tokens, id_token: idToken(), ...provider.answer };
        if (provider.body === undefined) answering(members, provider.status)(request, response);
        else response.writeHead(provider.status, { 'content-type': 'text/html' }).end(provider.body);
      }
    };
  }

  function page(
    changes: Partial<SignInClient> = {},
    location: ProviderLocation = { kind: 'issuer', issuer: provider.issuer },
    metadata = discovery(location, httpNetwork({ ca: testAuthority }), log),
  ): SignIn {
    const network = httpNetwork({ ca: testAuthority });
    return signIn(
      {
        clientId: CLIENT,
        clientSecret: undefined,
        assertionAudience: 'issuer',
        redirectUri: REDIRECT,
        signedOutUri: SIGNED_OUT,
        sponsorKeyClaim: 'sub',
        ...changes,
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
          client_id: CLIENT,
          response_type: 'code',
          redirect_uri: REDIRECT,
          scope: 'openid',
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge_method: 'S256',
          code_challenge: createHash('sha256').update(attempt.codeVerifier).digest('base64url'),
        });
        const outcome = await finish(signing);
        if (outcome.kind !== 'signed_in') throw new Error(outcome.reason);
        const { idToken, ...signedIn } = outcome;
        expect(readCompactJws(idToken.reveal())?.claims.json).to.deep.equal(provider.claims);
        expect(signedIn).to.deep.equal({
          kind: 'signed_in',
          person: {
            subject: 'ada',
            sponsorKey: 'ada',
            sessionId: claims.sid,
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
          grant_type: 'authorization_code',
          code: 'a-code',
          redirect_uri: REDIRECT,
          client_id: CLIENT,
          code_verifier: attempt.codeVerifier,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        });
        const claimed = readCompactJws(client_assertion)?.claims.json;
        expect(claimed).to.include({ iss: CLIENT, sub: CLIENT, aud: provider.issuer });
        expect(await signing.offersSignOut()).to.equal(true);
        const end = new URL((await signing.signOutAddress(new Secret('an.id.token'))) ?? '');
        expect(`${end.origin}${end.pathname}`).to.equal(provider.metadata.end_session_endpoint);
        const named = { client_id: CLIENT, post_logout_redirect_uri: SIGNED_OUT };
        expect(Object.fromEntries(end.searchParams)).to.deep.equal({ ...named, id_token_hint: 'an.id.token' });
        const bare = new URL((await signing.signOutAddress(undefined)) ?? '');
        expect(Object.fromEntries(bare.searchParams)).to.deep.equal(named);
      });

      it('authenticates by its client secret in a header if the provider accepts no form parameter', async () => {
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
    expect(readCompactJws(assertion)?.claims.json.aud).to.equal(provider.metadata.token_endpoint);
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
      expect(await finish(page({ clientSecret }))).to.deep.equal(refused('client_refused'));
      expect(log.lines.join('\n').includes(error)).to.equal(isShown);
    }
  });

  it("does not log a provider's error that repeats the assertion or the secret as it was sent", async () => {
    const clientSecret = new Secret('a secret:of more');
    for (const [client, repeat] of [
      [{}, (request: string) => new URLSearchParams(request).get('client_assertion')?.split('.')[0] ?? ''],
      [
        { clientSecret },
        () =>
          btoa(`${CLIENT}:${encodeURIComponent(clientSecret.reveal())}`)
            .slice(0, 60)
            .replace(/=/g, ''),
      ],
    ] as const) {
      shaped('Keycloak', { token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'] });
      provider.status = 400;
      const { answer } = server;
      server.answer = (request, response) => {
        provider.answer = { error: repeat(request.body).slice(0, 64) };
        answer(request, response);
      };
      expect(await finish(page(client))).to.deep.equal(refused('client_refused'));
      const said = String(provider.answer.error);
      expect(said).to.match(/^\w{20,}$/);
      expect(log.lines.join('\n')).not.to.include(said);
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

  it('refuses an ID token of an issuer whose keys are not the ones that verify it: its document moved, and its keys failed', async () => {
    shaped();
    const location = { kind: 'metadata_url', url: `${provider.issuer}/.well-known/openid-configuration` } as const;
    const metadata = discovery(location, httpNetwork({ ca: testAuthority }), log);
    const moving = page({}, location, metadata);
    expect(await finish(moving)).to.have.property('kind', 'signed_in');
    const other = 'https://other.example';
    provider.metadata = { ...provider.metadata, issuer: other, jwks_uri: `${server.url}/nothing` };
    provider.claims = { ...provider.claims, iss: other };
    await metadata.refresh();
    expect(await finish(moving, answerOf({ iss: other }))).to.deep.equal(refused('id_token_refused'));
    expect(log.lines.join('\n')).to.include('subject_untrusted_issuer');
  });

  /** The changed claims, and what the log says is wrong. */
  const claims: Readonly<Record<string, readonly [SignInDenial, string, (now: number) => Members]>> = {
    'for another client': ['id_token_refused', 'subject_audience_mismatch', () => ({ aud: 'people-desk' })],
    'for several clients, used by another': [
      'id_token_refused',
      'other_azp',
      () => ({ aud: [CLIENT, 'people-desk'], azp: 'people-desk' }),
    ],
    'for several clients, used by none': [
      'id_token_refused',
      'other_azp',
      () => ({ aud: [CLIENT, 'people-desk'], azp: undefined }),
    ],
    'for this client alone, used by another': ['id_token_refused', 'other_azp', () => ({ azp: 'people-desk' })],
    'of another issuer': ['id_token_refused', 'subject_untrusted_issuer', () => ({ iss: 'https://other.example' })],
    'that is over': ['id_token_refused', 'subject_expired', (now) => ({ iat: now - 900, exp: now - 300 })],
    'without an end': ['id_token_refused', 'subject_missing_expiry', () => ({ exp: undefined })],
    'without a beginning': ['id_token_refused', 'no_issued_at', () => ({ iat: undefined })],
    'without a nonce': ['id_token_refused', 'other_nonce', () => ({ nonce: undefined })],
    'with the nonce of another sign-in': ['id_token_refused', 'other_nonce', () => ({ nonce: 'x'.repeat(43) })],
    'of an agent': ['account_refused', 'subject_is_agent', () => ({ sub: 'AGENT:jira-triage' })],
    'of the client itself': ['account_refused', 'subject_not_a_person', () => ({ sub: CLIENT, azp: CLIENT })],
    'of a grant without a user': ['account_refused', 'subject_not_a_person', () => ({ gty: 'client-credentials' })],
    'that is delegated': [
      'account_refused',
      'subject_already_delegated',
      () => ({ act: { sub: 'agent:jira-triage' } }),
    ],
    'without a person': ['id_token_refused', 'subject_missing_subject', () => ({ sub: undefined })],
    'whose sid no logout could name': ['id_token_refused', 'subject_malformed', () => ({ sid: 7 })],
  };
  for (const [what, [reason, fault, change]] of Object.entries(claims)) {
    it(`refuses an ID token ${what}, and logs ${reason} with ${fault}`, async () => {
      shaped();
      provider.claims = { ...provider.claims, ...change(clock.seconds()) };
      expect(await finish()).to.deep.equal(refused(reason));
      const [line = ''] = log.lines.filter((each) => each.includes('A sign-in was refused.'));
      expect(JSON.parse(line)).to.include({ level: 'warn', reason, fault });
      expect(log.lines.join('\n')).not.to.include('eyJ');
    });
  }

  it('refuses an ID token that another key signed, is not signed, or is missing', async () => {
    shaped();
    const foreign = await makeSigningKey('RS256');
    const unsigned = [{ alg: 'none' }, provider.claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    for (const [id_token, reason] of [
      [foreign.sign({ alg: 'RS256', kid: key.kid, typ: 'JWT' }, provider.claims), 'id_token_refused'],
      [`${unsigned.join('.')}.`, 'id_token_refused'],
      ['no token', 'id_token_refused'],
      [undefined, 'provider_unreadable'],
      [null, 'provider_unreadable'],
      [7, 'provider_unreadable'],
    ]) {
      provider.answer = { id_token };
      expect(await finish()).to.deep.equal(refused(String(reason)));
    }
  });

  it('accepts members that are null, of odd forms, or more than are needed, and metadata that lists no algorithm', async () => {
    shaped('Keycloak', { id_token_signing_alg_values_supported: undefined });
    provider.answer = { refresh_token: null, scope: ['openid'], expires_in: '3599', id_token_hint: {} };
    for (const auth_time of [null, String(clock.seconds()), -1, 0.5]) {
      provider.claims = { ...provider.claims, auth_time, azp: null, acr: null };
      expect(await finish(), String(auth_time)).to.have.nested.property('person.authenticatedAt', undefined);
    }
  });

  it('refuses an answer that does not name the issuer, if the provider always does, or names another (RFC 9207)', async () => {
    shaped();
    for (const query of [`?code=a-code&state=${attempt.state}`, answerOf({ iss: 'https://other.example' })]) {
      expect(await finish(page(), query)).to.deep.equal(refused('sign_in_answer_refused'));
    }
    expect(tokenRequest()).to.equal(undefined);
  });

  it('takes an answer with the state of another sign-in, without one or with two for the answer to another', async () => {
    shaped();
    const another = answerOf({ state: 'x'.repeat(43) });
    for (const query of [another, `${answerOf()}&state=${attempt.state}`, '?error=access_denied', '?', '']) {
      expect(await finish(page(), query), query).to.deep.equal(refused('sign_in_superseded'));
    }
    expect(server.received).to.deep.equal([]);
  });

  /** An error in the return address, and the reason for the log. */
  const errors: Readonly<Record<string, SignInDenial>> = {
    temporarily_unavailable: 'provider_unavailable',
    server_error: 'provider_unavailable',
    access_denied: 'sign_in_cancelled',
    login_required: 'login_required',
    consent_required: 'login_required',
    interaction_required: 'login_required',
    account_selection_required: 'login_required',
    unauthorized_client: 'client_refused',
    invalid_scope: 'client_refused',
    invalid_request: 'client_refused',
    'an error of its own': 'client_refused',
  };
  for (const [error, reason] of Object.entries(errors)) {
    it(`logs ${reason} if the provider sends the person back with ${error}, and nothing else that it sent`, async () => {
      shaped();
      const error_description = `secret-${randomUUID()}`.padEnd(12_000, 'x');
      expect(await finish(page(), answerOf({ error, error_description }))).to.deep.equal(refused(reason));
      const [line = ''] = log.lines;
      expect(JSON.parse(line)).to.include({ level: 'warn', reason });
      expect(JSON.parse(line).error).to.equal(error.includes(' ') ? undefined : error);
      expect(line).not.to.include('secret-');
      expect(tokenRequest()).to.equal(undefined);
    });
  }

  const long = `${'x'.repeat(64 * 1024)}`;
  /** What the token endpoint answers, and the reason for the log. */
  const answers: Readonly<Record<string, readonly [SignInDenial, number, string | Members]>> = {
    'that it does not know the client': ['client_refused', 401, { error: 'invalid_client', error_description: 'y' }],
    'that the client may not do this': ['client_refused', 400, { error: 'unauthorized_client' }],
    'that the request lacks a parameter': ['client_refused', 400, { error: 'invalid_request' }],
    'a 401 without a word': ['client_refused', 401, ''],
    'a 403 without a word': ['client_refused', 403, ''],
    'a 403 as a page': ['client_refused', 403, '<html>Forbidden</html>'],
    'that it does not know the code': ['sign_in_code_refused', 400, { error: 'invalid_grant' }],
    'the same in another word': ['sign_in_code_refused', 400, { error: 'invalid_code' }],
    'that it has no time': ['provider_unavailable', 400, { error: 'temporarily_unavailable' }],
    'a 500': ['provider_unavailable', 500, '<html>Error</html>'],
    'a 503': ['provider_unavailable', 503, ''],
    'a 429': ['provider_unavailable', 429, { error: 'slow_down' }],
    'a page': ['provider_unreadable', 200, '<html>Sign in</html>'],
    nothing: ['provider_unreadable', 200, ''],
    'no content': ['provider_unreadable', 204, ''],
    'a list': ['provider_unreadable', 200, '[]'],
    'a redirect': ['provider_unreadable', 302, ''],
    'that there is nothing': ['provider_unreadable', 404, '<html>Not found</html>'],
    'no access token': ['provider_unreadable', 200, { access_token: null }],
    'an error of 64 KiB': ['provider_unreadable', 400, { error: 'invalid_client', error_description: long }],
  };
  for (const [what, [reason, status, body]] of Object.entries(answers)) {
    it(`logs ${reason} if the token endpoint answers ${what}`, async () => {
      shaped();
      provider.status = status;
      if (typeof body === 'string') provider.body = body;
      else provider.answer = body;
      expect(await finish()).to.deep.equal(refused(reason));
      const [line = ''] = log.lines;
      expect(line.length).to.be.below(500);
      expect(JSON.parse(line)).to.include({ level: 'warn', message: 'A sign-in was refused.', reason });
      expect(line).not.to.match(/eyJ|a-code|xxxx|html/);
    });
  }

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
      // The session could not resume either: the page would ask for another sign-in, again and again.
      expect(await withAge(clock.seconds() - 301)).to.deep.equal(refused('sign_in_too_old'));
      expect(await withAge(clock.seconds() + 90)).to.deep.equal(refused('sign_in_undated'));
      expect(await withAge(undefined)).to.deep.equal(refused('sign_in_undated'));
      expect(await withAge(0)).to.deep.equal(refused('sign_in_too_old'));
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
        expect(await page().signOutAddress(undefined)).to.equal(undefined);
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
      expect(await signing.signOutAddress(undefined)).to.equal(undefined);
      expect(plain.received).to.deep.equal([]);
      await plain.close();
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
    expect(await finish()).to.deep.equal(refused('client_refused'));
    expect(log.lines.join('\n')).to.include('invalid_client').and.not.include(secret);
  });

  it('offers no sign-out at a provider without the endpoint, or before its metadata was read', async () => {
    shaped('Keycloak');
    expect(await page().offersSignOut()).to.equal(false);
    shaped('Keycloak', { end_session_endpoint: undefined });
    const without = page();
    await without.begin(attempt);
    expect(await without.offersSignOut()).to.equal(false);
    expect(await page().signOutAddress(undefined)).to.equal(undefined);
  });
});
