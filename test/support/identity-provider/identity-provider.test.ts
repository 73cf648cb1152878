/** Checks the identity provider that other tests rely on. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';
import { SignInRefused } from './sign-in.ts';

function verify(provider: IdentityProvider, token: string) {
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
  return jwtVerify(token, keys, { issuer: provider.issuer, audience: provider.audience, typ: 'at+jwt' });
}

async function refused(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('The identity provider for tests', () => {
  let provider: IdentityProvider;

  before(async () => {
    provider = await startIdentityProvider({ algorithm: 'ES256', audience: 'https://mandate.test/api' });
  });
  after(() => provider.stop());

  it('issues an access token with the session and the consented scopes at a sign-in', async () => {
    const signedIn = await provider.signIn('ada', { scope: 'jira:read calendar:read' });
    const { payload, protectedHeader } = await verify(provider, signedIn.accessToken);
    expect(protectedHeader.alg).to.equal('ES256');
    expect(payload).to.include({ sub: 'ada', scope: 'jira:read calendar:read', sid: signedIn.sid });
  });

  it('grants no scope that the person does not hold', async () => {
    expect((await provider.signIn('ada', { scope: 'jira:read jira:admin' })).scope).to.equal('jira:read');
    expect((await provider.signIn('edsger')).scope).to.equal('');
  });

  it('refuses a wrong password and an unknown name', async () => {
    expect(await refused(provider.signIn('ada', { password: 'guess' }))).to.be.instanceOf(SignInRefused);
    expect(await refused(provider.signIn('nobody', { password: 'guess' }))).to.be.instanceOf(SignInRefused);
  });

  it('mints a token with any claims and header, signed with the key of its algorithm', async () => {
    const token = provider.mintAccessToken({ sub: 'grace', sid: undefined }, { alg: 'RS256' });
    const { payload } = await verify(provider, token);
    expect(payload.sub).to.equal('grace');
    expect(payload).to.not.have.property('sid');
    expect(decodeProtectedHeader(token).alg).to.equal('RS256');
  });

  it('rotates its keys, and publishes the former ones only if told to', async () => {
    const first = provider.mintAccessToken();
    await provider.rotateKeys({ keepFormer: true });
    await verify(provider, first);
    const second = provider.mintAccessToken();
    expect(decodeProtectedHeader(second).kid).to.not.equal(decodeProtectedHeader(first).kid);
    await provider.rotateKeys();
    expect(await refused(verify(provider, second))).to.have.property('code', 'ERR_JWKS_NO_MATCHING_KEY');
    await verify(provider, (await provider.signIn('grace')).accessToken);
  });

  it('counts the requests for its keys', async () => {
    const before = provider.jwksRequests();
    await fetch(`${provider.issuer}/jwks`);
    await fetch(`${provider.issuer}/.well-known/openid-configuration`);
    expect(provider.jwksRequests()).to.equal(before + 1);
  });

  it('stops and starts again on the same port', async () => {
    await provider.goDown();
    expect(await refused(fetch(`${provider.issuer}/jwks`))).to.be.instanceOf(TypeError);
    await provider.comeBack();
    expect((await fetch(`${provider.issuer}/jwks`)).status).to.equal(200);
  });
});

describe('The identity provider for tests', () => {
  it('sends the application a logout token with the session at a sign-out', async () => {
    const bodies: string[] = [];
    const application = createServer(async (request, response) => {
      bodies.push(Buffer.concat(await request.toArray()).toString());
      response.end();
    });
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
    const { port } = application.address() as AddressInfo;
    const provider = await startIdentityProvider({ backchannelLogoutUri: `http://127.0.0.1:${port}/logout` });
    try {
      const signedIn = await provider.signIn('grace');
      await signedIn.signOut();
      expect(provider.logoutDeliveries()).to.deep.equal([{ sid: signedIn.sid, delivered: true }]);
      const logoutToken = new URLSearchParams(bodies[0]).get('logout_token') ?? '';
      const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
      const { payload } = await jwtVerify(logoutToken, keys, { issuer: provider.issuer, audience: provider.clientId });
      expect(payload).to.include({ sub: 'grace', sid: signedIn.sid });
      expect(payload.events).to.have.property('http://schemas.openid.net/event/backchannel-logout');
    } finally {
      await provider.stop();
      application.close();
    }
  });
});
