/** The client with which a person signs in to start a task: its request, and the access token that it keeps. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import { serviceAssertion } from '../../../adapters/identity-provider/service-token.ts';
import { signIn } from '../../../adapters/identity-provider/sign-in.ts';
import type { SignInClient } from '../../../adapters/identity-provider/sign-in-client.ts';
import { providerKeys } from '../../../adapters/jose/provider-keys.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { SignIn, SignInAttempt, SignInOutcome } from '../../../application/ports/identity-provider.ts';
import { Secret } from '../../../domain/secret.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { makeBrowser } from '../../support/identity-provider/browser.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { ada } from '../../support/identity-provider/people.ts';
import { AUTHORIZE_CLIENT_ID, type Demands } from '../../support/identity-provider/provider-configuration.ts';
import {
  addressOf,
  attempt,
  CLIENT,
  providerForSuite,
  REDIRECT,
  refused,
} from '../../support/identity-provider/shaped-provider.ts';
import { passThePages } from '../../support/identity-provider/sign-in.ts';
import { answering, loopbackForSuite } from '../../support/loopback.ts';
import { movedClock } from '../../support/moved-clock.ts';

const AUDIENCE = 'https://mandate.example';
const DOOR = { keepsAccessToken: true, longestSignIn: 600 } as const;

function accessTokenOf(outcome: SignInOutcome): string | undefined {
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome.accessToken?.reveal();
}

describe('A sign-in that starts a task', () => {
  const idp = providerForSuite();
  const { server, shaped, page, finish, tokenRequest } = idp;

  it('asks for the scopes behind the prefix, with the parameters of the settings, and says to whom', async () => {
    shaped('Entra ID');
    const door = page({
      ...DOOR,
      sponsorKeyClaim: 'oid',
      scopePrefix: 'api://mandate/',
      providerParameters: { audience: AUDIENCE, resource: 'https://api.example', domain_hint: 'example.org' },
    });
    const begun = await addressOf(door, { ...attempt, scopes: ['files:read', 'files:write'], prompt: 'login' });
    const { code_challenge: _, ...parameters } = Object.fromEntries(begun.searchParams);
    expect(parameters).to.deep.equal({
      client_id: CLIENT,
      response_type: 'code',
      redirect_uri: REDIRECT,
      scope: 'openid profile email api://mandate/files:read api://mandate/files:write',
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge_method: 'S256',
      max_age: '600',
      prompt: 'login',
      audience: AUDIENCE,
      resource: 'https://api.example',
      domain_hint: 'example.org',
    });
    server.received.length = 0;
    await finish(door);
    // RFC 8707 §2.2: of these parameters the token endpoint knows only `resource`.
    const form = new URLSearchParams(tokenRequest()?.body);
    expect([form.getAll('resource'), form.has('audience'), form.has('domain_hint')]).to.deep.equal([
      ['https://api.example'],
      false,
      false,
    ]);
  });

  it('lets no parameter of the settings take the place of its own', async () => {
    shaped();
    const providerParameters = { scope: 'admin', state: 'x', redirect_uri: 'https://evil.example', prompt: 'none' };
    const begun = await addressOf(page({ ...DOOR, providerParameters }), { ...attempt, prompt: 'login' });
    for (const [name, value] of Object.entries({ scope: 'openid', state: attempt.state, redirect_uri: REDIRECT })) {
      expect(begun.searchParams.getAll(name)).to.deep.equal([value]);
    }
    expect(begun.searchParams.getAll('prompt')).to.deep.equal(['login']);
  });

  it('has the access token of the answer, and no other sign-in has one', async () => {
    for (const [client, accessToken] of [
      [DOOR, 'opaque'],
      [{}, undefined],
      [{ keepsAccessToken: false }, undefined],
    ] as const) {
      shaped();
      expect(accessTokenOf(await finish(page(client)))).to.equal(accessToken);
    }
  });

  it('is refused without an access token in the answer, and with one that is not a text', async () => {
    for (const access_token of [undefined, null, '', 7, ['opaque']]) {
      shaped();
      idp.provider.answer = { access_token };
      expect(await finish(page(DOOR)), String(access_token)).to.deep.equal(refused('provider_unreadable'));
    }
  });

  it('offers no sign-out: a session of this service begins with another client', async () => {
    shaped();
    const door = page({ ...DOOR, signedOutUri: undefined });
    await door.begin(attempt);
    expect([await door.offersSignOut(), await door.signOutAddress(undefined)]).to.deep.equal([false, undefined]);
  });

  it('drops the access token with a refused ID token, and neither is logged', async () => {
    shaped();
    idp.provider.answer = { access_token: 'a-token-of-the-person' };
    idp.provider.claims = { ...idp.provider.claims, nonce: 'another' };
    expect(await finish(page(DOOR))).to.deep.equal(refused('id_token_refused'));
    expect(idp.log.lines.join('\n')).not.to.match(/a-token-of-the-person|eyJ/);
  });
});

describe('A sign-in that starts a task, at oidc-provider', () => {
  const SECRET = 'a secret of the door that is long enough';
  const keys = loopbackForSuite(answering({}));
  const randomness = systemRandomness();
  let assertion: ReturnType<typeof serviceAssertion>;
  const running: IdentityProvider[] = [];

  before(async () => {
    const chosen = await signingKeys([await generateSigningKey()], undefined);
    if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
    keys.answer = answering(chosen.signingKeys.published());
    assertion = serviceAssertion(chosen.signingKeys, movedClock(), randomness);
  });
  after(() => Promise.all(running.map((provider) => provider.stop())));

  async function doorAt(
    changes: Partial<SignInClient> = {},
    { demands, secret }: { readonly demands?: Demands; readonly secret?: string } = {},
  ): Promise<SignIn> {
    const provider = await startIdentityProvider({
      page: { issuer: keys.url, ...(secret !== undefined && { secret }) },
      ...(demands && { demands }),
    });
    running.push(provider);
    const [network, log, clock] = [httpNetwork(), capturedLog(), movedClock()];
    const metadata = discovery({ kind: 'issuer', issuer: provider.issuer }, network, log);
    const client: SignInClient = {
      ...DOOR,
      clientId: AUTHORIZE_CLIENT_ID,
      clientSecret: secret === undefined ? undefined : new Secret(secret),
      assertionAudience: 'issuer',
      pushedAuthorization: 'auto',
      redirectUri: `${keys.url}/oauth2/authorize/callback`,
      signedOutUri: undefined,
      sponsorKeyClaim: 'sub',
      providerParameters: { resource: AUDIENCE },
      ...changes,
    };
    return signIn(client, {
      metadata,
      network,
      clock,
      log,
      assertion,
      providerKeys: providerKeys(metadata, network, clock, log),
    });
  }

  const newAttempt = (changes: Partial<SignInAttempt> = {}): SignInAttempt => ({
    state: randomness.secret(32),
    nonce: randomness.secret(32),
    codeVerifier: randomness.secret(32),
    maxAge: undefined,
    scopes: ['jira:read', 'jira:admin'],
    ...changes,
  });

  async function signsIn(door: SignIn, changes: Partial<SignInAttempt> = {}, browser = makeBrowser()) {
    const begun = newAttempt(changes);
    const back = await passThePages(
      browser,
      await addressOf(door, begun),
      ada,
      `${keys.url}/oauth2/authorize/callback`,
    );
    return door.finish(begun, back.search);
  }

  it("has an access token for the tasks' audience with the scopes that the person holds, however the client authenticates", async () => {
    for (const [title, client, options] of [
      ['the signing key', {}, {}],
      ['a secret', {}, { secret: SECRET }],
      ['the signing key, and a pushed request', {}, { demands: { pushedRequests: 'of_all' } }],
      ['a secret, and a pushed request', { pushedAuthorization: 'always' }, { secret: SECRET }],
    ] as const) {
      const outcome = await signsIn(await doorAt(client, options));
      const claims = decodeJwt(accessTokenOf(outcome) ?? '');
      // Ada has no jira:admin.
      expect(claims, title).to.include({ aud: AUDIENCE, sub: ada.username, scope: 'jira:read' });
      expect(outcome, title).to.have.nested.property('person.sponsorKey', ada.username);
    }
  });

  it('has an opaque token for the userinfo endpoint where no parameter names the audience', async () => {
    const token = accessTokenOf(await signsIn(await doorAt({ providerParameters: {} })));
    expect(token).to.match(/^[\w-]+$/);
  });

  it('asks for a new proof of who the person is with prompt=login only', async () => {
    const [door, browser] = [await doorAt(), makeBrowser()];
    const signedInAt = async (changes: Partial<SignInAttempt>) => {
      const outcome = await signsIn(door, changes, browser);
      if (outcome.kind === 'refused') throw new Error(outcome.reason);
      return outcome.person.authenticatedAt;
    };
    const first = await signedInAt({});
    expect(await signedInAt({}), 'with a session').to.equal(first);
    const address = await addressOf(door, newAttempt({ prompt: 'login' }));
    const asked = await browser.open(address.href, `${keys.url}/`);
    expect(asked.text).to.include('name="password"');
  });

  it('is refused by its own reason where the provider demands a proof of a key', async () => {
    expect(await signsIn(await doorAt({}, { demands: { dpop: true } }))).to.deep.equal(
      refused('sign_in_dpop_demanded'),
    );
  });
});
