import { expect } from 'chai';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { generateSigningKey, type PublicHalf, type SigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import type { SigningKeys } from '../../../application/ports/keys.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

async function chosen(keys: readonly PublicHalf[], activeKeyId?: string): Promise<SigningKeys> {
  const result = await signingKeys(keys, activeKeyId);
  if (result.kind !== 'chosen') throw new Error(result.kind);
  return result.signingKeys;
}

function read(token: string) {
  const jws = readCompactJws(token);
  if (jws === undefined) throw new Error('malformed');
  return jws;
}

describe('The signing keys of the service', () => {
  let former: SigningKey;
  let active: SigningKey;
  let keys: SigningKeys;
  before(async () => {
    [former, active] = await Promise.all([generateSigningKey(), generateSigningKey()]);
    keys = await chosen([former, active], active.keyId);
  });

  it('sign with the active key, and another library verifies that with the published set', async () => {
    const token = await keys.sign('at+jwt', { iss: 'https://mandate.example', sub: 'ada', jti: 'tok_1' });
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys: published(keys) }), {
      algorithms: ['ES256'],
      typ: 'at+jwt',
    });
    expect(protectedHeader).to.deep.equal({ alg: 'ES256', typ: 'at+jwt', kid: active.keyId });
    expect(payload).to.deep.equal({ iss: 'https://mandate.example', sub: 'ada', jti: 'tok_1' });
  });

  it('write claims in any script unchanged', async () => {
    const token = await keys.sign('at+jwt', { sub: 'Grüße 👋 "\\' });
    expect(read(token).claims.json).to.deep.equal({ sub: 'Grüße 👋 "\\' });
  });

  it('publish only the public members of every key', () => {
    const kids = keys.published().keys.map((key) => key.kid);
    expect(kids).to.deep.equal([former.keyId, active.keyId]);
    for (const key of keys.published().keys) {
      expect(key).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg');
      expect(key).to.include({ kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' });
    }
  });

  it('verify tokens of the active and of a former key repeatedly', async () => {
    const formerKeys = await chosen([former]);
    for (const by of [keys, formerKeys]) {
      const token = read(await by.sign('at+jwt', { sub: 'ada' }));
      expect(await keys.verify(token)).to.equal(true);
      expect(await keys.verify(token)).to.equal(true);
    }
  });

  it('refuse the signature of an unpublished key', async () => {
    const strangers = await chosen([await generateSigningKey()]);
    expect(await keys.verify(read(await strangers.sign('at+jwt', { sub: 'ada' })))).to.equal(false);
  });

  it('refuse the signature of another key with the active kid', async () => {
    const stranger = await makeSigningKey('ES256');
    const token = stranger.sign({ alg: 'ES256', typ: 'at+jwt', kid: active.keyId }, { sub: 'ada' });
    expect(await keys.verify(read(token))).to.equal(false);
  });

  it('refuse a verified token after its claims were changed', async () => {
    const token = await keys.sign('at+jwt', { sub: 'ada' });
    expect(await keys.verify(read(token))).to.equal(true);
    const [header, , signature] = token.split('.');
    const forged = `${header}.${Buffer.from('{"sub":"root"}').toString('base64url')}.${signature}`;
    expect(await keys.verify(read(forged))).to.equal(false);
  });

  for (const alg of ['none', 'HS256', 'RS256', 'ES384']) {
    it(`refuse a token with the alg ${alg}`, async () => {
      const [, claims, signature] = (await keys.sign('at+jwt', { sub: 'ada' })).split('.');
      const header = Buffer.from(JSON.stringify({ alg, kid: active.keyId })).toString('base64url');
      expect(await keys.verify(read(`${header}.${claims}.${signature}`))).to.equal(false);
    });
  }

  it('need no active kid with a single key', async () => {
    const [first] = (await chosen([active])).published().keys;
    expect(first?.kid).to.equal(active.keyId);
  });

  it('are refused when the active key is ambiguous', async () => {
    const same = { ...former, keyId: active.keyId };
    expect(await signingKeys([], undefined)).to.deep.equal({ kind: 'no_keys' });
    expect(await signingKeys([former, active], undefined)).to.deep.equal({ kind: 'active_key_id_missing' });
    expect(await signingKeys([former, active], 'another')).to.deep.equal({ kind: 'active_key_id_unknown' });
    expect(await signingKeys([former], 'another')).to.deep.equal({ kind: 'active_key_id_unknown' });
    expect(await signingKeys([active, same], active.keyId)).to.deep.equal({ kind: 'repeated_key_id' });
  });

  it('verify and publish with the public half of a former key, which cannot be the active one', async () => {
    const { sign: _, ...half } = former;
    const token = read(await (await chosen([former])).sign('at+jwt', { sub: 'ada' }));
    const both = await chosen([half, active], active.keyId);
    expect(await both.verify(token)).to.equal(true);
    expect(both.published()).to.deep.equal(keys.published());
    for (const [set, kid] of [
      [[half], undefined],
      [[half, active], half.keyId],
    ] as const) {
      expect(await signingKeys(set, kid)).to.deep.equal({ kind: 'active_key_cannot_sign', active: half });
    }
  });
});

function published(keys: SigningKeys) {
  return keys.published().keys.map(({ key_ops: _, ...key }) => ({ ...key }));
}
