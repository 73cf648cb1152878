import { expect } from 'chai';
import { CompactSign, exportJWK, generateKeyPair, importJWK } from 'jose';
import { providerKeysReadiness, type RefreshedProviderKeys } from '../../../adapters/jose/provider-keys.ts';
import { readProviderJws } from '../../../domain/tokens/compact-jws.ts';
import {
  documentsForEachTest,
  fetchingForEachTest,
  lastingToken,
  METADATA,
  read,
  signedBy,
  unverifiable,
  verdictBy as verdict,
} from '../../support/identity-provider/fetched-keys.ts';
import { answering, STATUSES_WITHOUT_DOCUMENT } from '../../support/loopback.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

describe('The keys of an identity provider', () => {
  const fetching = fetchingForEachTest();
  const provider = documentsForEachTest();
  const status = async (keys: RefreshedProviderKeys) =>
    (await providerKeysReadiness(keys, fetching.clock).check()).status;

  it('verify every RS, PS, ES and EdDSA algorithm', async () => {
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const rsaJwk = await exportJWK(rsa.privateKey);
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
      const isRsa = alg.startsWith('RS') || alg.startsWith('PS');
      const made = isRsa ? rsa : await generateKeyPair(alg);
      const privateKey = isRsa ? await importJWK(rsaJwk, alg) : made.privateKey;
      provider.publish({ ...(await exportJWK(made.publicKey)), kid: 'a', alg });
      const token = await new CompactSign(Buffer.from('{}')).setProtectedHeader({ alg, kid: 'a' }).sign(privateKey);
      const verdict = await fetching.keysOf(provider.server.url).verify(read(token));
      expect(verdict, alg).to.deep.equal({ kind: 'verified', issuer: provider.server.url });
    }
  });

  it('belong to the issuers of the metadata, which are replaced with them', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish(key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    const metadata = METADATA;
    const document = provider.documents[metadata];
    const remembered = lastingToken(key, fetching.clock);
    for (const accessTokenIssuer of ['http://adfs.example/trust', 'http://adfs.example/moved']) {
      provider.documents[metadata] = { ...(document as object), access_token_issuer: accessTokenIssuer };
      fetching.clock.advance(301);
      await keys.refreshIfDue();
      const expected = { kind: 'verified', issuer: provider.server.url, accessTokenIssuer };
      expect(await keys.verify(remembered)).to.deep.equal(expected);
      expect(await keys.verify(unverifiable(remembered))).to.deep.equal(expected);
    }
  });

  it('are all tried for a token without a kid, and none is dropped because of its position', async () => {
    const { kid: _, ...nameless } = (await makeSigningKey('ES256')).publicJwk;
    const key = await makeSigningKey('ES256');
    const { kid, ...last } = key.publicJwk;
    const named = await makeSigningKey('ES256');
    provider.publish(...Array(200).fill(nameless), last, named.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    expect((await keys.verify(read(key.sign({ alg: 'ES256' }, { sub: 'ada' })))).kind).to.equal('verified');
    expect(await verdict(keys, named)).to.equal('verified');
    expect(await verdict(keys, { ...key, kid: String(kid) })).to.equal('unknown_key');
  });

  it('are read as providers write them: null members, the alg Ed25519, the status 203, Content-Encoding: UTF-8', async () => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA');
    const jwk = await exportJWK(publicKey);
    const nulls = { use: null, key_ops: null, x5t: null, x5c: null, n: null, d: null };
    const es = await makeSigningKey('ES256');
    provider.publish({ ...jwk, ...nulls, kid: 'ed', alg: 'Ed25519' }, { ...es.publicJwk, alg: null, kid: null });
    provider.server.answer = (request, response) => {
      response.setHeader('content-encoding', 'UTF-8');
      answering(provider.documents[request.path] ?? {}, 203)(request, response);
    };
    const signed = await new CompactSign(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'Ed25519', kid: 'ed' })
      .sign(privateKey);
    const nameless = es.sign({ alg: 'ES256', kid: null, typ: null, crit: null }, { sub: 'ada', nbf: null });
    for (const token of [signed, nameless]) {
      const jws = readProviderJws(token);
      if (jws === undefined) throw new Error('malformed');
      expect(await fetching.keysOf(provider.server.url).verify(jws)).to.deep.equal({
        kind: 'verified',
        issuer: provider.server.url,
      });
    }
  });

  it('refuse the alg Ed25519 of a key that is on no such curve', async () => {
    const key = await makeSigningKey('RS256');
    provider.publish({ ...key.publicJwk, alg: 'Ed25519' });
    expect(await verdict(fetching.keysOf(provider.server.url), key)).to.equal('keys_unavailable');
  });

  it('refuse an algorithm with a shared secret and every unlisted algorithm, without a fetch', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish(key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    for (const algorithm of ['none', 'HS256', 'ES256K', 'Ed448', 'ML-DSA-44']) {
      const jws = { ...read(key.sign({ alg: 'ES256', kid: key.kid }, {})), algorithm };
      expect(await keys.verify(jws), algorithm).to.deep.equal({ kind: 'unsupported_algorithm' });
    }
    expect(provider.server.received).to.have.length(0);
  });

  it('are unavailable and unhealthy while no published key is usable', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish({ ...key.publicJwk, use: 'enc' });
    const keys = fetching.keysOf(provider.server.url);
    expect(await verdict(keys, key)).to.equal('keys_unavailable');
    expect(await status(keys)).to.equal('Unhealthy');
    provider.publish(key.publicJwk);
    fetching.clock.advance(1);
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await status(keys)).to.equal('Healthy');
  });

  it('verify a token beside keys of the same kid that cannot, and the log names each of these and its reason', async () => {
    const [key, other] = await Promise.all([makeSigningKey('RS256'), makeSigningKey('RS256')]);
    const offCurve = { ...(await makeSigningKey('ES256')).publicJwk, y: 'A'.repeat(43) };
    const encryption = { ...key.publicJwk, use: 'enc', alg: 'RSA-OAEP' };
    provider.publish(encryption, { ...other.publicJwk, kid: key.kid }, offCurve, key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await verdict(keys, { ...other, kid: key.kid })).to.equal('verified');
    fetching.clock.advance(300);
    await keys.refreshIfDue();
    const lines = fetching.log.lines.map((line) => JSON.parse(line));
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ level: 'info', message: 'Keys of the set are not used.' });
    expect(lines[0].unused).to.equal(
      'keys[0] must have no alg but PS256 or PS384 or PS512 or RS256 or RS384 or RS512, must have no use but sig. ' +
        'keys[2] cannot be imported.',
    );
  });

  it('are unavailable while no key can be used, and the log names ten of them with their reasons', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish(...Array.from({ length: 12 }, () => ({ ...key.publicJwk, use: 'enc' })));
    expect(await verdict(fetching.keysOf(provider.server.url), key)).to.equal('keys_unavailable');
    const { problem } = JSON.parse(fetching.log.lines[0] ?? '{}');
    expect(problem).to.match(/^No key of the set can be used\. keys\[0\] must have no use but sig\. keys\[1\] /);
    expect(problem).to.match(/keys\[9\] must have no use but sig\. Also 2 more\.$/);
  });

  it('are accepted only with the status 200', async () => {
    const key = await makeSigningKey('ES256');
    const metadata = provider.documents[METADATA];
    for (const status of STATUSES_WITHOUT_DOCUMENT) {
      const keys = fetching.keysOf(provider.server.url);
      provider.server.answer = (request, response) => {
        const [body, its] = request.path === '/keys' ? [{ keys: [key.publicJwk] }, status] : [metadata, 200];
        answering(body, its)(request, response);
      };
      expect(await keys.verify(signedBy(key)), `${status}`).to.deep.equal({ kind: 'keys_unavailable' });
      expect(provider.server.received.at(-1)?.path, `${status}`).to.equal('/keys');
    }
  });

  it('are kept when a set without a usable key is published, and then become degraded', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish(key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    await keys.refreshIfDue();
    provider.publish();
    fetching.clock.advance(300);
    await keys.refreshIfDue();
    expect(await verdict(keys, key)).to.equal('verified');
    expect(await status(keys)).to.equal('Healthy');
    fetching.clock.advance(601);
    expect(await status(keys)).to.equal('Degraded');
  });

  for (const [what, alg, changes, refusal] of [
    ['has another kid', 'ES256', { kid: 'renamed' }, 'unknown_key'],
    ['has another alg', 'RS256', { alg: 'PS256' }, 'key_mismatch'],
  ] as const) {
    it(`refuse a token that they verified before their key ${what}`, async () => {
      const key = await makeSigningKey(alg);
      provider.publish(key.publicJwk);
      const keys = fetching.keysOf(provider.server.url);
      const token = lastingToken(key, fetching.clock);
      expect((await keys.verify(token)).kind).to.equal('verified');
      expect((await keys.verify(unverifiable(token))).kind).to.equal('verified');
      provider.publish({ ...key.publicJwk, ...changes });
      fetching.clock.advance(300);
      await keys.refreshIfDue();
      expect(await keys.verify(token)).to.deep.equal({ kind: refusal });
    });
  }
});
