import { expect } from 'chai';
import { CompactSign, exportJWK, generateKeyPair, importJWK } from 'jose';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import {
  providerKeys,
  providerKeysReadiness,
  type RefreshedProviderKeys,
} from '../../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import { type Instant, instantFromSeconds } from '../../../domain/instant.ts';
import { readCompactJws, readProviderJws } from '../../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { eventually } from '../../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering, type Loopback, STATUSES_WITHOUT_DOCUMENT, startLoopback } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';

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

describe('The keys of a real identity provider', () => {
  let provider: IdentityProvider;
  let keys: RefreshedProviderKeys;
  beforeEach(async () => {
    provider = await startIdentityProvider();
    keys = keysOf(provider.issuer);
  });
  afterEach(() => provider.stop());

  const verdict = (token: string) => keys.verify(read(token));
  const status = async () => (await providerKeysReadiness(keys, clock).check()).status;

  it('verify its tokens in each algorithm, and return the issuer', async () => {
    for (const alg of ['RS256', 'ES256']) {
      const token = provider.mintAccessToken({}, { alg });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
    }
    expect(provider.jwksRequests()).to.equal(1);
  });

  it('refuse a verified token after its claims were changed', async () => {
    const token = provider.mintAccessToken();
    await verdict(token);
    const [header, claims = '', signature] = token.split('.');
    const text = Buffer.from(claims, 'base64url').toString().replace('"sub":"', '"sub":"x');
    const forged = `${header}.${Buffer.from(text).toString('base64url')}.${signature}`;
    expect(await verdict(forged)).to.deep.equal({ kind: 'invalid_signature' });
  });

  it('are fetched again after a rotation, and removed keys verify no token', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys();
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    // The look-up for the new token brought its key. It does not count towards the limit, but the one for this token does.
    expect(await verdict(before)).to.deep.equal({ kind: 'unknown_key' });
    expect(await verdict(before)).to.deep.equal({ kind: 'unknown_key' });
    expect(provider.jwksRequests()).to.equal(3);
  });

  it('verify a token of a former key while the provider publishes it', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    expect((await verdict(before)).kind).to.equal('verified');
  });

  it('are fetched every five minutes, so that a removed key expires without an unknown kid', async () => {
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

  it('are fetched again after five minutes in the trace of the request that needs them', async () => {
    const network = httpNetwork();
    const traces: (Trace | undefined)[] = [];
    const watched: Network = {
      send(request) {
        traces.push(request.trace);
        return network.send(request);
      },
    };
    keys = providerKeys(discovery({ kind: 'issuer', issuer: provider.issuer }, watched, log), watched, clock, log);
    await verdict(provider.mintAccessToken());
    clock.advance(300);
    await keys.verify(read(provider.mintAccessToken()), aTrace);
    await keys.refreshIfDue();
    // Each fetch requests the metadata, then the keys.
    expect(traces).to.deep.equal([undefined, undefined, aTrace, aTrace]);
  });

  it('are kept while the provider is down, and readiness is degraded after fifteen minutes', async () => {
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

  it('are unavailable for a token of a new key while the provider is down, and are there soon after its return', async () => {
    clock.standStill();
    const old = provider.mintAccessToken();
    expect((await verdict(old)).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    const newest = provider.mintAccessToken();
    await provider.goDown();
    // Four exchanges a second for 40 s.
    for (let nth = 0; nth < 160; nth += 1) {
      expect((await verdict(newest)).kind, `${nth}`).to.equal('keys_unavailable');
      expect((await verdict(old)).kind, `${nth}`).to.equal('verified');
      clock.advance(0.25);
    }
    await provider.comeBack();
    let waited = 0;
    while ((await verdict(newest)).kind === 'keys_unavailable' && waited < 5) {
      clock.advance(0.25);
      waited += 0.25;
    }
    expect((await verdict(newest)).kind).to.equal('verified');
    expect(waited).to.be.at.most(4);
  });

  it('are unavailable until the first fetch, and are fetched when the provider comes up later', async () => {
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

  it('are fetched at start and then regularly until a stop', async () => {
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

describe('The keys of an identity provider', () => {
  let server: Loopback;
  let documents: Record<string, unknown>;
  beforeEach(async () => {
    server = await startLoopback(({ path }, response) => answering(documents[path] ?? {})({} as never, response));
    documents = { '/.well-known/openid-configuration': { issuer: server.url, jwks_uri: `${server.url}/keys` } };
  });
  afterEach(() => server.close());

  const publish = (...keys: readonly object[]) => {
    documents['/keys'] = { keys };
  };
  const signedBy = (key: SigningKey) => read(key.sign({ alg: key.alg, kid: key.kid }, { sub: 'ada' }));
  const verdict = async (keys: RefreshedProviderKeys, key: SigningKey) => (await keys.verify(signedBy(key))).kind;
  const status = async (keys: RefreshedProviderKeys) => (await providerKeysReadiness(keys, clock).check()).status;

  it('verify every RS, PS, ES and EdDSA algorithm', async () => {
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const rsaJwk = await exportJWK(rsa.privateKey);
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
      const isRsa = alg.startsWith('RS') || alg.startsWith('PS');
      const made = isRsa ? rsa : await generateKeyPair(alg);
      const privateKey = isRsa ? await importJWK(rsaJwk, alg) : made.privateKey;
      publish({ ...(await exportJWK(made.publicKey)), kid: 'a', alg });
      const token = await new CompactSign(Buffer.from('{}')).setProtectedHeader({ alg, kid: 'a' }).sign(privateKey);
      const verdict = await keysOf(server.url).verify(read(token));
      expect(verdict, alg).to.deep.equal({ kind: 'verified', issuer: server.url });
    }
  });

  it('belong to the issuers of the metadata, which are replaced with them', async () => {
    const key = await makeSigningKey('ES256');
    publish(key.publicJwk);
    const keys = keysOf(server.url);
    const metadata = '/.well-known/openid-configuration';
    const document = documents[metadata];
    for (const accessTokenIssuer of ['http://adfs.example/trust', 'http://adfs.example/moved']) {
      documents[metadata] = { ...(document as object), access_token_issuer: accessTokenIssuer };
      clock.advance(301);
      await keys.refreshIfDue();
      const expected = { kind: 'verified', issuer: server.url, accessTokenIssuer };
      // The second answer is from the cache of verified tokens.
      for (let time = 0; time < 2; time += 1) expect(await keys.verify(signedBy(key))).to.deep.equal(expected);
    }
  });

  it('are all tried for a token without a kid, and none is dropped because of its position', async () => {
    const { kid: _, ...nameless } = (await makeSigningKey('ES256')).publicJwk;
    const key = await makeSigningKey('ES256');
    const { kid, ...last } = key.publicJwk;
    const named = await makeSigningKey('ES256');
    publish(...Array(200).fill(nameless), last, named.publicJwk);
    const keys = keysOf(server.url);
    expect((await keys.verify(read(key.sign({ alg: 'ES256' }, { sub: 'ada' })))).kind).to.equal('verified');
    expect(await verdict(keys, named)).to.equal('verified');
    expect(await verdict(keys, { ...key, kid: String(kid) })).to.equal('unknown_key');
  });

  it('are read as providers write them: null members, the alg Ed25519, the status 203, Content-Encoding: UTF-8', async () => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA');
    const jwk = await exportJWK(publicKey);
    const nulls = { use: null, key_ops: null, x5t: null, x5c: null, n: null, d: null };
    const es = await makeSigningKey('ES256');
    publish({ ...jwk, ...nulls, kid: 'ed', alg: 'Ed25519' }, { ...es.publicJwk, alg: null, kid: null });
    server.answer = (request, response) => {
      response.setHeader('content-encoding', 'UTF-8');
      answering(documents[request.path] ?? {}, 203)(request, response);
    };
    const signed = await new CompactSign(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'Ed25519', kid: 'ed' })
      .sign(privateKey);
    const nameless = es.sign({ alg: 'ES256', kid: null, typ: null, crit: null }, { sub: 'ada', nbf: null });
    for (const token of [signed, nameless]) {
      const jws = readProviderJws(token);
      if (jws === undefined) throw new Error('malformed');
      expect(await keysOf(server.url).verify(jws)).to.deep.equal({ kind: 'verified', issuer: server.url });
    }
  });

  it('refuse the alg Ed25519 of a key that is on no such curve', async () => {
    const key = await makeSigningKey('RS256');
    publish({ ...key.publicJwk, alg: 'Ed25519' });
    expect(await verdict(keysOf(server.url), key)).to.equal('keys_unavailable');
  });

  it('refuse an algorithm with a shared secret and every unlisted algorithm, without a fetch', async () => {
    const key = await makeSigningKey('ES256');
    publish(key.publicJwk);
    const keys = keysOf(server.url);
    for (const algorithm of ['none', 'HS256', 'ES256K', 'Ed448', 'ML-DSA-44']) {
      const jws = { ...read(key.sign({ alg: 'ES256', kid: key.kid }, {})), algorithm };
      expect(await keys.verify(jws), algorithm).to.deep.equal({ kind: 'unsupported_algorithm' });
    }
    expect(server.received).to.have.length(0);
  });

  it('are unavailable and unhealthy while no published key is usable', async () => {
    const key = await makeSigningKey('ES256');
    publish({ ...key.publicJwk, use: 'enc' });
    const keys = keysOf(server.url);
    expect(await verdict(keys, key)).to.equal('keys_unavailable');
    expect(await status(keys)).to.equal('Unhealthy');
    publish(key.publicJwk);
    clock.advance(1);
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await status(keys)).to.equal('Healthy');
  });

  it('verify a token beside keys of the same kid that cannot, and the log names each of these and its reason', async () => {
    const [key, other] = await Promise.all([makeSigningKey('RS256'), makeSigningKey('RS256')]);
    const offCurve = { ...(await makeSigningKey('ES256')).publicJwk, y: 'A'.repeat(43) };
    const encryption = { ...key.publicJwk, use: 'enc', alg: 'RSA-OAEP' };
    publish(encryption, { ...other.publicJwk, kid: key.kid }, offCurve, key.publicJwk);
    const keys = keysOf(server.url);
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await verdict(keys, { ...other, kid: key.kid })).to.equal('verified');
    clock.advance(300);
    await keys.refreshIfDue();
    const lines = log.lines.map((line) => JSON.parse(line));
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ level: 'info', message: 'Keys of the set are not used.' });
    expect(lines[0].unused).to.equal(
      'keys[0] must have no alg but PS256 or PS384 or PS512 or RS256 or RS384 or RS512, must have no use but sig. ' +
        'keys[2] cannot be imported.',
    );
  });

  it('are unavailable while no key can be used, and the log names ten of them with their reasons', async () => {
    const key = await makeSigningKey('ES256');
    publish(...Array.from({ length: 12 }, () => ({ ...key.publicJwk, use: 'enc' })));
    expect(await verdict(keysOf(server.url), key)).to.equal('keys_unavailable');
    const { problem } = JSON.parse(log.lines[0] ?? '{}');
    expect(problem).to.match(/^No key of the set can be used\. keys\[0\] must have no use but sig\. keys\[1\] /);
    expect(problem).to.match(/keys\[9\] must have no use but sig\. Also 2 more\.$/);
  });

  for (const [what, path] of [
    ['metadata', '/.well-known/openid-configuration'],
    ['keys', '/keys'],
  ]) {
    it(`are fetched no earlier than the Retry-After of the ${what}, at the start and later`, async () => {
      clock.standStill();
      const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
      publish(former.publicJwk);
      const good = server.answer;
      const busy: typeof good = (request, response) => {
        if (request.path !== path) return good(request, response);
        response.writeHead(503, { 'retry-after': '20' }).end();
      };
      const keys = keysOf(server.url);
      server.answer = busy;
      expect(await verdict(keys, former)).to.equal('keys_unavailable');
      const asked = server.received.length;
      server.answer = good;
      clock.advance(19);
      await keys.refreshIfDue();
      expect(await verdict(keys, former)).to.equal('keys_unavailable');
      expect(server.received).to.have.length(asked);
      clock.advance(1);
      expect(await verdict(keys, former)).to.equal('verified');
      publish(former.publicJwk, present.publicJwk);
      server.answer = (request, response) => (request.path === '/keys' ? response.destroy() : busy(request, response));
      if (path === '/keys') server.answer = busy;
      expect(await verdict(keys, present)).to.equal('keys_unavailable');
      const askedLater = server.received.length;
      server.answer = good;
      clock.advance(19);
      expect(await verdict(keys, present)).to.equal('keys_unavailable');
      expect(server.received).to.have.length(askedLater);
      clock.advance(1);
      expect(await verdict(keys, present)).to.equal('verified');
    });
  }

  it('are accepted only with the status 200', async () => {
    const key = await makeSigningKey('ES256');
    const metadata = documents['/.well-known/openid-configuration'];
    for (const status of STATUSES_WITHOUT_DOCUMENT) {
      const keys = keysOf(server.url);
      server.answer = (request, response) => {
        const [body, its] = request.path === '/keys' ? [{ keys: [key.publicJwk] }, status] : [metadata, 200];
        answering(body, its)(request, response);
      };
      expect(await keys.verify(signedBy(key)), `${status}`).to.deep.equal({ kind: 'keys_unavailable' });
      expect(server.received.at(-1)?.path, `${status}`).to.equal('/keys');
    }
  });

  it('are kept when a set without a usable key is published, and then become degraded', async () => {
    const key = await makeSigningKey('ES256');
    publish(key.publicJwk);
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    publish();
    clock.advance(300);
    await keys.refreshIfDue();
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await status(keys)).to.equal('Healthy');
    clock.advance(601);
    expect(await status(keys)).to.equal('Degraded');
  });

  for (const [what, alg, changes, refusal] of [
    ['has another kid', 'ES256', { kid: 'renamed' }, 'unknown_key'],
    ['has another alg', 'RS256', { alg: 'PS256' }, 'key_mismatch'],
  ] as const) {
    it(`refuse a token that they verified before their key ${what}`, async () => {
      const key = await makeSigningKey(alg);
      publish(key.publicJwk);
      const keys = keysOf(server.url);
      expect(await verdict(keys, key)).to.equal('verified');
      publish({ ...key.publicJwk, ...changes });
      clock.advance(300);
      await keys.refreshIfDue();
      expect(await keys.verify(signedBy(key))).to.deep.equal({ kind: refusal });
    });
  }

  it('are fetched again when a new key is published under a known kid', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    publish(former.publicJwk);
    const keys = keysOf(server.url);
    expect(await verdict(keys, former)).to.equal('verified');
    publish({ ...present.publicJwk, kid: former.kid });
    expect(await verdict(keys, { ...present, kid: former.kid })).to.equal('verified');
    expect(await verdict(keys, former)).to.equal('invalid_signature');
    const asked = server.received.length;
    expect(await verdict(keys, former)).to.equal('invalid_signature');
    expect(server.received).to.have.length(asked);
  });

  it('are fetched again for a token whose key was published while they were being fetched', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    publish(former.publicJwk);
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    const answerSlowly = server.answer;
    let finish: (() => void) | undefined;
    server.answer = (request, response) => {
      // Composed now, and sent when the test says so.
      const body = documents[request.path];
      if (request.path === '/keys' && finish === undefined) finish = () => answering(body)(request, response);
      else answerSlowly(request, response);
    };
    clock.advance(300);
    const refreshed = keys.refreshIfDue();
    await eventually(() => finish !== undefined);
    publish(former.publicJwk, present.publicJwk);
    const asked = [verdict(keys, present), verdict(keys, present), verdict(keys, { ...present, kid: 'invented' })];
    await new Promise(setImmediate);
    finish?.();
    await refreshed;
    expect(await Promise.all(asked)).to.deep.equal(['verified', 'verified', 'unknown_key']);
    expect(server.received.filter(({ path }) => path === '/keys')).to.have.length(3);
  });

  it('are fetched from the new jwks_uri after the metadata changed', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    publish(former.publicJwk);
    documents['/moved'] = { keys: [present.publicJwk] };
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    documents['/.well-known/openid-configuration'] = { issuer: server.url, jwks_uri: `${server.url}/moved` };
    expect(await verdict(keys, present)).to.equal('verified');
  });

  it('are fetched from the former jwks_uri while the metadata cannot be read', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    publish(former.publicJwk);
    const keys = keysOf(server.url);
    await keys.refreshIfDue();
    documents = { '/keys': { keys: [present.publicJwk] } };
    expect(await verdict(keys, present)).to.equal('verified');
  });
});

describe('The readiness check of the identity provider keys', () => {
  const now = instantFromSeconds(1_789_653_821);
  const statusAt = async (lastFetchedAt: Instant | undefined) =>
    (await providerKeysReadiness({ lastFetchedAt: () => lastFetchedAt }, { now: () => now }).check()).status;

  it('is unhealthy until the first fetch', async () => {
    expect(await statusAt(undefined)).to.equal('Unhealthy');
  });

  it('is healthy for fifteen minutes after a fetch, and then degraded', async () => {
    expect(await statusAt(now)).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900))).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900.001))).to.equal('Degraded');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 86_400))).to.equal('Degraded');
  });

  it('has the name identity_provider_keys', () => {
    expect(providerKeysReadiness({ lastFetchedAt: () => undefined }, { now: () => now }).name).to.equal(
      'identity_provider_keys',
    );
  });
});
