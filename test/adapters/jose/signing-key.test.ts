import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { expect } from 'chai';
import { calculateJwkThumbprint } from 'jose';
import { canSign, generateSigningKey, publicPem, readSigningKey } from '../../../adapters/jose/signing-key.ts';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pkcs8 = pem(pair.privateKey, 'pkcs8');

function pem(key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1'): string {
  return key.export({ type, format: 'pem' }).toString();
}

async function problemOf(text: string, keyId?: string): Promise<string> {
  const result = await readSigningKey(text, keyId);
  return result.kind === 'unusable' ? result.problem : 'none';
}

describe('A signing key', () => {
  for (const type of ['pkcs8', 'sec1'] as const) {
    it(`is read from PEM in ${type}, with its thumbprint as kid (RFC 7638)`, async () => {
      const result = await readSigningKey(pem(pair.privateKey, type));
      if (result.kind !== 'read') throw new Error(result.kind);
      const { x, y } = pair.publicKey.export({ format: 'jwk' });
      const kid = await calculateJwkThumbprint(pair.publicKey.export({ format: 'jwk' }));
      expect(result.key.publicJwk).to.deep.equal({ kty: 'EC', crv: 'P-256', x, y, kid, use: 'sig', alg: 'ES256' });
      expect(result.key.keyId).to.equal(kid);
    });
  }

  it('is read from PEM with a block of EC parameters before the key, as openssl writes it', async () => {
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    expect(await problemOf(parameters + pem(pair.privateKey, 'sec1'))).to.equal('none');
  });

  it('has the given kid', async () => {
    const result = await readSigningKey(pkcs8, 'signing-2026');
    if (result.kind !== 'read') throw new Error(result.kind);
    expect(result.key.keyId).to.equal('signing-2026');
    expect(result.key.publicJwk.kid).to.equal('signing-2026');
  });

  it('signs, and has no private member', async () => {
    const result = await readSigningKey(pkcs8);
    if (result.kind !== 'read') throw new Error(result.kind);
    const { keyId, sign, publicJwk, ...others } = result.key;
    expect(others).to.deep.equal({});
    expect(publicJwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg');
    const signature = await sign(Buffer.from('text'));
    const key = { key: pair.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from('text'), key, signature)).to.equal(true);
  });

  const UNREADABLE = 'is not a private key in PEM (PKCS#8 or SEC1, not encrypted)';
  const OTHER_KEY = 'is not an EC key on P-256';
  const encrypted = pair.privateKey
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a-passphrase' })
    .toString();
  for (const [title, text, problem] of [
    ['an empty text', '', UNREADABLE],
    ['text that is not PEM', 'a-secret-of-another-setting', UNREADABLE],
    ['a damaged key', pkcs8.replace(/[A-Za-z]{8}/g, 'AAAAAAAA'), UNREADABLE],
    ['a truncated key', pkcs8.slice(0, 80), UNREADABLE],
    ['an encrypted key', encrypted, UNREADABLE],
    ['two keys', pkcs8 + pkcs8, 'holds more than one private key'],
    ['an RSA key', pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'pkcs8'), OTHER_KEY],
    ['a key on P-384', pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, 'pkcs8'), OTHER_KEY],
    ['a key on secp256k1', pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey, 'sec1'), OTHER_KEY],
    ['an Ed25519 key', pem(generateKeyPairSync('ed25519').privateKey, 'pkcs8'), OTHER_KEY],
  ] as const) {
    it(`is not read from ${title}, and the problem does not repeat the text`, async () => {
      expect(await problemOf(text)).to.equal(problem);
    });
  }

  it('is not read from the halves of two keys', async () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
    const mine = pair.publicKey.export({ format: 'jwk' });
    const bytes = Buffer.from(pair.privateKey.export({ type: 'pkcs8', format: 'der' }));
    for (const name of ['x', 'y'] as const) {
      const at = bytes.indexOf(Buffer.from(mine[name] ?? '', 'base64url'));
      Buffer.from(other[name] ?? '', 'base64url').copy(bytes, at);
    }
    const text = `-----BEGIN PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END PRIVATE KEY-----\n`;
    expect(await problemOf(text)).to.equal('has a private part that does not belong to its public part');
  });

  describe('of which only the public half is left', () => {
    const spki = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
    const half = spki(pair.publicKey);

    it('is read from PEM (SPKI) with the kid of the whole key, and cannot sign', async () => {
      const [whole, read] = await Promise.all([readSigningKey(pkcs8), readSigningKey(half)]);
      if (whole.kind !== 'read' || read.kind !== 'public_half') throw new Error(read.kind);
      expect(read.key).to.deep.equal({ keyId: whole.key.keyId, publicJwk: whole.key.publicJwk });
      expect([canSign(whole.key), canSign(read.key)]).to.deep.equal([true, false]);
      expect([publicPem(whole.key), publicPem(read.key)]).to.deep.equal([half, half]);
    });

    it('is read as a whole key if its private half is beside it', async () => {
      expect((await readSigningKey(half + pkcs8)).kind).to.equal('read');
    });

    for (const [title, text, problem] of [
      ['two public keys', half + half, 'holds more than one public key'],
      ['a damaged public key', half.replace(/[A-Za-z]{8}/g, 'AAAAAAAA'), 'is not a public key in PEM (SPKI)'],
      ['an RSA key', spki(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey), OTHER_KEY],
      ['a key on P-384', spki(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey), OTHER_KEY],
      ['an Ed25519 key', spki(generateKeyPairSync('ed25519').publicKey), OTHER_KEY],
    ] as const) {
      it(`is not read from ${title}`, async () => expect(await problemOf(text)).to.equal(problem));
    }
  });

  for (const [title, keyId] of [
    ['an empty', ''],
    ['a too long', 'k'.repeat(257)],
    ['a not well-formed', '\ud800'],
  ] as const) {
    it(`is not read with ${title} kid`, async () => {
      expect(await problemOf(pkcs8, keyId)).to.equal('must have a Kid of 1 to 256 characters');
    });
  }

  it('differs each time it is generated', async () => {
    const [first, second] = await Promise.all([generateSigningKey(), generateSigningKey()]);
    expect(first.keyId).not.to.equal(second.keyId);
    expect(first.publicJwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg');
    expect(await first.sign(Buffer.from('text'))).to.have.length(64);
  });
});
