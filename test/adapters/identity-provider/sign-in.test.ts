/** The sign-in with metadata and ID tokens in the shapes of Keycloak, Okta and Entra ID, over TLS. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { Secret } from '../../../domain/secret.ts';
import { NAME_CLAIMS } from '../../../domain/sessions/shown-name.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import {
  addressOf,
  attempt,
  CLIENT,
  providerForSuite,
  REDIRECT,
  refused,
  SHAPES,
  SIGNED_OUT,
  secret,
} from '../../support/identity-provider/shaped-provider.ts';
import { testTrust } from '../../support/loopback.ts';

describe('The sign-in', () => {
  const idp = providerForSuite();
  const { server, shaped, page, answerOf, finish, tokenRequest } = idp;

  for (const [name, { claims }] of Object.entries(SHAPES)) {
    describe(`at a provider shaped like ${name}`, () => {
      it('begins at its endpoint and signs the person in, with private_key_jwt', async () => {
        shaped(name);
        const signing = page();
        const begun = await addressOf(signing);
        expect(`${begun.origin}${begun.pathname}`).to.equal(idp.provider.metadata.authorization_endpoint);
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
        expect(readCompactJws(idToken.reveal())?.claims.json).to.deep.equal(idp.provider.claims);
        expect(signedIn).to.deep.equal({
          kind: 'signed_in',
          person: {
            subject: 'ada',
            sponsorKey: 'ada',
            sessionId: claims.sid,
            authenticatedAt: instantFromSeconds(Number(idp.provider.claims.auth_time)),
          },
          issuedAt: instantFromSeconds(Number(idp.provider.claims.iat)),
          issuer: idp.provider.issuer,
          claims: idp.provider.claims,
          accessToken: undefined,
        });
        const request = tokenRequest();
        expect(`${server.url}${request?.path}`).to.equal(idp.provider.metadata.token_endpoint);
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
        expect(claimed).to.include({ iss: CLIENT, sub: CLIENT, aud: idp.provider.issuer });
        expect(await signing.offersSignOut()).to.equal(true);
        const end = new URL((await signing.signOutAddress(new Secret('an.id.token'))) ?? '');
        expect(`${end.origin}${end.pathname}`).to.equal(idp.provider.metadata.end_session_endpoint);
        const named = { client_id: CLIENT, post_logout_redirect_uri: SIGNED_OUT };
        expect(Object.fromEntries(end.searchParams)).to.deep.equal({ ...named, id_token_hint: 'an.id.token' });
        const bare = new URL((await signing.signOutAddress(undefined)) ?? '');
        expect(Object.fromEntries(bare.searchParams)).to.deep.equal(named);
      });

      it('authenticates by its client secret in a header if the provider accepts no form parameter', async () => {
        shaped(name, { token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'] });
        expect((await finish(page({ clientSecret: secret }))).kind).to.equal('signed_in');
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
      expect((await finish(page({ clientSecret: secret }))).kind).to.equal('signed_in');
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
    expect(readCompactJws(assertion)?.claims.json.aud).to.equal(idp.provider.metadata.token_endpoint);
  });

  it("logs the provider's error, unless it repeats the secret", async () => {
    const clientSecret = new Secret('q'.repeat(40));
    for (const [error, isShown] of [
      ['invalid_client', true],
      [`bad_${'q'.repeat(20)}`, false],
    ] as const) {
      shaped();
      idp.provider.status = 400;
      idp.provider.answer = { error };
      expect(await finish(page({ clientSecret }))).to.deep.equal(refused('client_refused'));
      expect(idp.log.lines.join('\n').includes(error)).to.equal(isShown);
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
      idp.provider.status = 400;
      const { answer } = server;
      server.answer = (request, response) => {
        idp.provider.answer = { error: repeat(request.body).slice(0, 64) };
        answer(request, response);
      };
      expect(await finish(page(client))).to.deep.equal(refused('client_refused'));
      const said = String(idp.provider.answer.error);
      expect(said).to.match(/^\w{20,}$/);
      expect(idp.log.lines.join('\n')).not.to.include(said);
    }
  });

  it('names the person by the claim of the sponsor key, as Entra ID needs it, and asks for its scope', async () => {
    shaped('Entra ID');
    const signing = page({ sponsorKeyClaim: 'oid' });
    const begun = await addressOf(signing);
    expect(begun.searchParams.get('scope')).to.equal('openid profile email');
    const outcome = await finish(signing);
    expect(outcome).to.have.nested.property('person.sponsorKey', 'object-7');
    expect(outcome).to.have.nested.property('person.subject', 'ada');
  });

  it('asks for no scope of claims that the provider does not list, because some refuse the sign-in for it', async () => {
    shaped('Entra ID', { scopes_supported: ['openid', 'email', 'offline_access', 'roles'] });
    const begun = await addressOf(page({ sponsorKeyClaim: 'oid', moreClaims: ['roles'] }));
    expect(begun.searchParams.get('scope')).to.equal('openid email roles');
  });

  it('asks for the scopes of a name where the provider may have them', async () => {
    for (const [offered, scope] of [
      [undefined, 'openid profile email'],
      [['openid', 'profile'], 'openid profile'],
      [['openid'], 'openid'],
    ] as const) {
      shaped('Entra ID', offered && { scopes_supported: offered });
      const begun = await addressOf(page({ moreClaims: NAME_CLAIMS }));
      expect(begun.searchParams.get('scope'), String(offered)).to.equal(scope);
    }
  });

  it('refuses an ID token of an issuer whose keys are not the ones that verify it: its document moved, and its keys failed', async () => {
    shaped();
    const location = { kind: 'metadata_url', url: `${idp.provider.issuer}/.well-known/openid-configuration` } as const;
    const metadata = discovery(location, httpNetwork({ secureContext: testTrust }), idp.log);
    const moving = page({}, location, metadata);
    expect(await finish(moving)).to.have.property('kind', 'signed_in');
    const other = 'https://other.example';
    idp.provider.metadata = { ...idp.provider.metadata, issuer: other, jwks_uri: `${server.url}/nothing` };
    idp.provider.claims = { ...idp.provider.claims, iss: other };
    await metadata.refresh();
    expect(await finish(moving, answerOf({ iss: other }))).to.deep.equal(refused('id_token_refused'));
    expect(idp.log.lines.join('\n')).to.include('subject_untrusted_issuer');
  });

  describe('within a time since the person entered credentials', () => {
    const withAge = (auth_time: number | undefined) => {
      shaped();
      idp.provider.claims = { ...idp.provider.claims, auth_time };
      return finish(page(), answerOf(), 300);
    };

    it('asks for it, and accepts an authentication of that age, or by a clock that is a little ahead', async () => {
      shaped();
      const begun = await addressOf(page(), { ...attempt, maxAge: 300 });
      expect(begun.searchParams.get('max_age')).to.equal('300');
      // Ten seconds less than the limit, because the clock runs. test/domain/sessions/sign-in-age.test.ts has the limit.
      expect((await withAge(idp.clock.seconds() - 290)).kind).to.equal('signed_in');
      const ahead = await withAge(idp.clock.seconds() + 30);
      if (ahead.kind !== 'signed_in') throw new Error(ahead.reason);
      expect(ahead.person.authenticatedAt).to.be.at.most(idp.clock.now());
    });

    it('refuses an older one, one far in the future, and a provider that does not say when', async () => {
      expect(await withAge(idp.clock.seconds() - 400)).to.deep.equal(refused('sign_in_too_old'));
      // The session could not resume either: the page would ask for another sign-in, again and again.
      expect(await withAge(idp.clock.seconds() - 301)).to.deep.equal(refused('sign_in_too_old'));
      expect(await withAge(idp.clock.seconds() + 90)).to.deep.equal(refused('sign_in_undated'));
      expect(await withAge(undefined)).to.deep.equal(refused('sign_in_undated'));
      expect(await withAge(0)).to.deep.equal(refused('sign_in_too_old'));
    });
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
