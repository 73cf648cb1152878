import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { expect } from 'chai';
import { isSignature, makeSignature } from '../../../adapters/jose/signature.ts';
import type { SignatureAlgorithm } from '../../../domain/agents/public-key.ts';

const INPUT = Buffer.from('header.claims');

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const ed = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** RFC 7518 §3.3 to §3.5, RFC 8037 §3.1: every signature of an algorithm and key has the same number of bytes. */
const schemes: readonly (readonly [SignatureAlgorithm, Pair, number])[] = [
  ['ES256', ec('P-256'), 64],
  ['ES384', ec('P-384'), 96],
  ['ES512', ec('P-521'), 132],
  ['EdDSA', ed, 64],
  ['RS256', rsa, 256],
  ['RS384', rsa, 256],
  ['RS512', rsa, 256],
  ['PS256', rsa, 256],
  ['PS384', rsa, 256],
  ['PS512', rsa, 256],
];

describe('A signature', () => {
  for (const [algorithm, { privateKey, publicKey }, bytes] of schemes) {
    const valid = (signature: Uint8Array, input: Uint8Array = INPUT) =>
      isSignature(algorithm, publicKey, input, signature);

    it(`of ${algorithm} has exactly ${bytes} bytes`, () => {
      const good = makeSignature(algorithm, privateKey, INPUT);
      expect(good).to.have.length(bytes);
      expect(valid(good)).to.equal(true);
      const zero = Buffer.alloc(1);
      const half = bytes / 2;
      for (const other of [
        Buffer.alloc(0),
        good.subarray(0, -1),
        good.subarray(1),
        Buffer.concat([good, zero]),
        Buffer.concat([zero, good]),
        Buffer.concat([zero, good.subarray(0, half), zero, good.subarray(half)]),
        Buffer.concat([good, good]),
        Buffer.alloc(bytes),
      ]) {
        expect(valid(other), `${other.length} bytes`).to.equal(false);
      }
    });

    if (algorithm.startsWith('PS')) {
      it(`of ${algorithm} is refused without its leading zero byte, though OpenSSL would accept it`, () => {
        let good = makeSignature(algorithm, privateKey, INPUT);
        while (good[0] !== 0) good = makeSignature(algorithm, privateKey, INPUT);
        expect(valid(good)).to.equal(true);
        expect(valid(good.subarray(1))).to.equal(false);
      });
    }

    it(`of ${algorithm} covers every byte of its input`, () => {
      const good = makeSignature(algorithm, privateKey, INPUT);
      for (let at = 0; at < INPUT.length; at += 1) {
        const altered = Buffer.from(INPUT);
        altered[at] = (altered[at] ?? 0) ^ 1;
        expect(valid(good, altered)).to.equal(false);
      }
    });
  }

  it('of ES256 is refused in DER', () => {
    const { privateKey, publicKey } = ec('P-256');
    const der = sign('sha256', INPUT, { key: privateKey, dsaEncoding: 'der' });
    expect(isSignature('ES256', publicKey, INPUT, der)).to.equal(false);
  });

  it('of PS256 is refused with a salt of another length than its hash', () => {
    for (const saltLength of [0, 20, 31, 33]) {
      const other = sign('sha256', INPUT, {
        key: rsa.privateKey,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength,
      });
      expect(isSignature('PS256', rsa.publicKey, INPUT, other), `${saltLength}`).to.equal(false);
    }
  });

  it('of one RSA algorithm is refused as a signature of another', () => {
    const ofRsa = schemes.filter(([, pair]) => pair === rsa).map(([algorithm]) => algorithm);
    for (const made of ofRsa) {
      const signature = makeSignature(made, rsa.privateKey, INPUT);
      for (const asked of ofRsa) {
        expect(isSignature(asked, rsa.publicKey, INPUT, signature), `${made}, ${asked}`).to.equal(made === asked);
      }
    }
  });
});
