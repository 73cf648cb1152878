import { expect } from 'chai';
import { CompactSign, exportJWK, generateKeyPair, importJWK } from 'jose';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import {
  providerKeys,
  providerKeysReadiness,
  type RefreshedProviderKeys,
} from '../../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering, type Loopback, STATUSES_BESIDE_200, startLoopback } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

let clock: MovedClock;
let log: CapturedLog;
beforeEach(() => {
  clock = movedClock();
  log = capturedLog();
});

function keysOf(issuer: string): RefreshedProviderKeys {
  const network = httpNetwork();
  return providerKeys(discovery({ kind: 'issuer', issuer }, network, log), network, clock, log);
}

function read(token: string) {
  const jws = readCompactJws(token);
  if (jws === undefined) throw new Error('malformed');
  return jws;
}

describe("the identity provider's keys, of a real provider", () => {
  let provider: IdentityProvider;
  let keys: RefreshedProviderKeys;
  beforeEach(async () => {
    provider = await startIdentityProvider();
    keys = keysOf(provider.issuer);
  });
  afterEach(() => provider.stop());

  const verdict = (token: string) => keys.verify(read(token));
  const status = async () => (await providerKeysReadiness(keys, clock).check()).status;

  it('verify its tokens in either algorithm, and say which issuer they speak for', async () => {
    for (const alg of ['RS256', 'ES256']) {
      const token = provider.mintAccessToken({}, { alg });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
    }
    expect(provider.jwksRequests()).to.equal(1);
  });

  it('do not verify a token whose claims were changed after it had verified', async () => {
    const token = provider.mintAccessToken();
    await verdict(token);
    const [header, claims = '', signature] = token.split('.');
    const text = Buffer.from(claims, 'base64url').toString().replace('"sub":"', '"sub":"x');
    const forged = `${header}.${Buffer.from(text).toString('base64url')}.${signature}`;
    expect(await verdict(forged)).to.deep.equal({ kind: 'invalid_signature' });
  });

  it('are fetched anew when the provider has changed them, and those it took out verify nothing more', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys();
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    expect(await verdict(before)).to.deep.equal({ kind: 'unknown_key' });
    expect(provider.jwksRequests()).to.equal(2);
  });

  it('verify a token of a former key while that is still published', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    expect((await verdict(before)).kind).to.equal('verified');
  });

  it('are fetched every five minutes, so that a key that was taken out is noticed by nobody asking', async () => {
    clock.standStill();
    const before = provider.mintAccessToken();
    await verdict(before);
    await provider.rotateKeys();
    clock.advance(299);
    await keys.refreshIfDue();
    expect((await verdict(before)).kind).to.equal('verified');
    clock.advance(1);
    await keys.refreshIfDue();
    expect((await verdict(before)).kind).to.equal('unknown_key');
  });

  it('stay as they were while the provider is away, which shows after fifteen minutes', async () => {
    await keys.refreshIfDue();
    const token = provider.mintAccessToken();
    await provider.goDown();
    clock.advance(890);
    await keys.refreshIfDue();
    expect((await verdict(token)).kind).to.equal('verified');
    expect(await status()).to.equal('Healthy');
    clock.advance(20);
    expect(await status()).to.equal('Degraded');
    expect((await verdict(token)).kind).to.equal('verified');
    await provider.comeBack();
    clock.advance(30);
    await keys.refreshIfDue();
    expect(await status()).to.equal('Healthy');
  });

  it('are unavailable while they were never fetched, and come by themselves when the provider comes up late', async () => {
    const token = provider.mintAccessToken();
    await provider.goDown();
    expect(await verdict(token)).to.deep.equal({ kind: 'keys_unavailable' });
    expect(await status()).to.equal('Unhealthy');
    expect(keys.lastFetchedAt()).to.equal(undefined);
    await provider.comeBack();
    clock.advance(3);
    await keys.refreshIfDue();
    expect(await status()).to.equal('Healthy');
    expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
  });

  it('are fetched at start, and looked after from time to time until it is stopped', async () => {
    const network = httpNetwork();
    const metadata = discovery({ kind: 'issuer', issuer: provider.issuer }, network, log);
    const looking = providerKeys(metadata, network, clock, log, 5);
    await provider.goDown();
    await looking.start();
    expect(looking.lastFetchedAt()).to.equal(undefined);
    await provider.comeBack();
    clock.advance(3);
    while (looking.lastFetchedAt() === undefined) await new Promise(setImmediate);
    looking.stop();
    expect(provider.jwksRequests()).to.equal(1);
    clock.advance(3600);
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(provider.jwksRequests()).to.equal(1);
  });
});

describe("the identity provider's keys", () => {
  let server: Loopback;
  let documents: Record<string, unknown>;
  beforeEach(async () => {
    server = await startLoopback(({ path }, response) => answering(documents[path] ?? {})({} as never, response));
    documents = { '/.well-known/openid-configuration': { issuer: server.url, jwks_uri: `${server.url}/keys` } };
  });
  afterEach(() => server.close());

  it('verify every RS, PS, ES and EdDSA algorithm', async () => {
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const rsaJwk = await exportJWK(rsa.privateKey);
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
      const isRsa = alg.startsWith('RS') || alg.startsWith('PS');
      const made = isRsa ? rsa : await generateKeyPair(alg);
      const privateKey = isRsa ? await importJWK(rsaJwk, alg) : made.privateKey;
      documents['/keys'] = { keys: [{ ...(await exportJWK(made.publicKey)), kid: 'a', alg }] };
      const token = await new CompactSign(Buffer.from('{}')).setProtectedHeader({ alg, kid: 'a' }).sign(privateKey);
      const verdict = await keysOf(server.url).verify(read(token));
      expect(verdict, alg).to.deep.equal({ kind: 'verified', issuer: server.url });
    }
  });

  it('verify no algorithm with a shared secret, and none that is not asked for', async () => {
    const key = await makeSigningKey('ES256');
    documents['/keys'] = { keys: [key.publicJwk] };
    const keys = keysOf(server.url);
    for (const algorithm of ['none', 'HS256', 'ES256K', 'Ed25519', 'ML-DSA-44']) {
      const jws = { ...read(key.sign({ alg: 'ES256', kid: key.kid }, {})), algorithm };
      expect(await keys.verify(jws), algorithm).to.deep.equal({ kind: 'unsupported_algorithm' });
    }
    expect(server.received).to.have.length(0);
  });

  it('are not there while none of those published can be used, and that is no readiness', async () => {
    const key = await makeSigningKey('ES256');
    documents['/keys'] = { keys: [{ ...key.publicJwk, use: 'enc' }] };
    const keys = keysOf(server.url);
    const token = read(key.sign({ alg: 'ES256', kid: key.kid }, {}));
    expect(await keys.verify(token)).to.deep.equal({ kind: 'keys_unavailable' });
    expect((await providerKeysReadiness(keys, clock).check()).status).to.equal('Unhealthy');
    documents['/keys'] = { keys: [key.publicJwk] };
    clock.advance(1);
    expect((await keys.verify(token)).kind).to.equal('verified');
    expect((await providerKeysReadiness(keys, clock).check()).status).to.equal('Healthy');
  });

  it('are only what comes with the status 200', async () => {
    const key = await makeSigningKey('ES256');
    const token = read(key.sign({ alg: 'ES256', kid: key.kid }, {}));
    const metadata = documents['/.well-known/openid-configuration'];
    for (const status of STATUSES_BESIDE_200) {
      const keys = keysOf(server.url);
      server.answer = (request, response) => {
        const [body, its] = request.path === '/keys' ? [{ keys: [key.publicJwk] }, status] : [metadata, 200];
        answering(body, its)(request, response);
      };
      expect(await keys.verify(token), `${status}`).to.deep.equal({ kind: 'keys_unavailable' });
      expect(server.received.at(-1)?.path, `${status}`).to.equal('/keys');
    }
  });

  it('stay as they are when a set without one usable key is published: once ready, only staleness is told', async () => {
    const key = await makeSigningKey('ES256');
    documents['/keys'] = { keys: [key.publicJwk] };
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    documents['/keys'] = { keys: [] };
    clock.advance(300);
    await keys.refreshIfDue();
    const token = read(key.sign({ alg: 'ES256', kid: key.kid }, {}));
    expect((await keys.verify(token)).kind).to.equal('verified');
    expect((await providerKeysReadiness(keys, clock).check()).status).to.equal('Healthy');
    clock.advance(601);
    expect((await providerKeysReadiness(keys, clock).check()).status).to.equal('Degraded');
  });

  it('do not verify from memory what a key under another kid signed before', async () => {
    const key = await makeSigningKey('ES256');
    const token = read(key.sign({ alg: 'ES256', kid: key.kid }, { sub: 'ada' }));
    documents['/keys'] = { keys: [key.publicJwk] };
    const keys = keysOf(server.url);
    expect((await keys.verify(token)).kind).to.equal('verified');
    documents['/keys'] = { keys: [{ ...key.publicJwk, kid: 'renamed' }] };
    clock.advance(300);
    await keys.refreshIfDue();
    expect(await keys.verify(token)).to.deep.equal({ kind: 'unknown_key' });
  });

  it('do not verify from memory what a key that may no longer be used in this way signed before', async () => {
    const key = await makeSigningKey('RS256');
    const token = read(key.sign({ alg: 'RS256', kid: key.kid }, { sub: 'ada' }));
    documents['/keys'] = { keys: [key.publicJwk] };
    const keys = keysOf(server.url);
    expect((await keys.verify(token)).kind).to.equal('verified');
    documents['/keys'] = { keys: [{ ...key.publicJwk, alg: 'PS256' }] };
    clock.advance(300);
    await keys.refreshIfDue();
    expect(await keys.verify(token)).to.deep.equal({ kind: 'key_mismatch' });
  });

  it('follow the provider to where its document says they are now', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    documents['/keys'] = { keys: [former.publicJwk] };
    documents['/moved'] = { keys: [present.publicJwk] };
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    documents['/.well-known/openid-configuration'] = { issuer: server.url, jwks_uri: `${server.url}/moved` };
    expect((await keys.verify(read(present.sign({ alg: 'ES256', kid: present.kid }, {})))).kind).to.equal('verified');
  });

  it('are fetched where they were when the document can not be read for once', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    documents['/keys'] = { keys: [former.publicJwk] };
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    documents = { '/keys': { keys: [present.publicJwk] } };
    expect((await keys.verify(read(present.sign({ alg: 'ES256', kid: present.kid }, {})))).kind).to.equal('verified');
  });
});
