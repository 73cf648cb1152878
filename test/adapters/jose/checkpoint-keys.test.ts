import { expect } from 'chai';
import {
  checkpointSigner,
  checkpointVerifier,
  readCheckpointVerifier,
} from '../../../adapters/jose/checkpoint-signatures.ts';
import { generateSigningKey, type SigningKey } from '../../../adapters/jose/signing-key.ts';
import { canonicalCheckpoint } from '../../../domain/ledger/canonical-json.ts';
import { parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { readCheckpoint } from '../../support/independent-ledger/read-published.ts';
import { publishedLedger } from '../../support/independent-ledger/vectors.ts';

const TEXT = '{"checkpoint_id":1}';

describe('the keys of checkpoints', () => {
  let [key, other]: [SigningKey | undefined, SigningKey | undefined] = [undefined, undefined];
  before(async () => {
    [key, other] = [await generateSigningKey(), await generateSigningKey()];
  });
  const given = (one: SigningKey | undefined): SigningKey => {
    if (one === undefined) throw new Error('no key');
    return one;
  };
  const setOf = (...keys: readonly unknown[]) => readCheckpointVerifier(parseStrictJson(JSON.stringify({ keys })));

  it('verify every signature that others publish, and none of them moved to another checkpoint', async () => {
    const verifier = checkpointVerifier({ keys: [publishedLedger.jwk] });
    const checkpoints = publishedLedger.checkpoints.map(readCheckpoint);
    for (const [index, { kid, signature }] of checkpoints.entries()) {
      for (const [at, checkpoint] of checkpoints.entries()) {
        const verdict = await verifier.verify(kid, canonicalCheckpoint(checkpoint), signature);
        expect(verdict).to.equal(index === at ? 'verified' : 'invalid_signature');
      }
    }
  });

  it('sign what they verify, in 64 bytes of lowercase hex', async () => {
    const signer = checkpointSigner(given(key));
    const signature = await signer.sign(TEXT);
    expect(signature).to.match(/^[0-9a-f]{128}$/);
    expect(signer.kid).to.equal(given(key).keyId);
    const verifier = checkpointVerifier({ keys: [given(other).publicJwk, given(key).publicJwk] });
    expect(await verifier.verify(signer.kid, TEXT, signature)).to.equal('verified');
    expect(await verifier.verify(signer.kid, `${TEXT} `, signature)).to.equal('invalid_signature');
    expect(await verifier.verify(given(other).keyId, TEXT, signature)).to.equal('invalid_signature');
    expect(await verifier.verify('', TEXT, signature)).to.equal('unknown_key');
    expect(await verifier.verify('gone', TEXT, signature)).to.equal('unknown_key');
  });

  it('take a signature in one spelling only', async () => {
    const signer = checkpointSigner(given(key));
    const verifier = checkpointVerifier({ keys: [given(key).publicJwk] });
    const signature = await signer.sign(TEXT);
    // Lest there be no letter in it.
    const shouted = signature.toUpperCase() === signature ? `A${signature.slice(1)}` : signature.toUpperCase();
    const spellings = [
      shouted,
      ` ${signature}`,
      `${signature}\n`,
      `${signature}00`,
      signature.slice(2),
      `0x${signature}`,
    ];
    for (const spelling of ['', '00'.repeat(64), ...spellings]) {
      expect(await verifier.verify(signer.kid, TEXT, spelling)).to.equal('invalid_signature');
    }
  });

  it('are found among others in a set from elsewhere, which may name one twice', async () => {
    const signer = checkpointSigner(given(key));
    const signature = await signer.sign(TEXT);
    const sameId = { ...given(other).publicJwk, kid: given(key).keyId };
    const rsa = { kty: 'RSA', kid: given(key).keyId, n: 'AQAB', e: 'AQAB' };
    const offCurve = { ...given(key).publicJwk, y: given(key).publicJwk.x };
    const set = setOf(
      rsa,
      'no key',
      offCurve,
      sameId,
      { ...given(key).publicJwk, kid: undefined },
      given(key).publicJwk,
    );
    expect(await set?.verify(signer.kid, TEXT, signature)).to.equal('verified');
    expect(await setOf(sameId)?.verify(signer.kid, TEXT, signature)).to.equal('invalid_signature');
    expect(await setOf(given(other).publicJwk)?.verify(signer.kid, TEXT, signature)).to.equal('unknown_key');
    // A key that is none after all is not known.
    expect(await setOf(offCurve)?.verify(signer.kid, TEXT, signature)).to.equal('unknown_key');
  });

  it('are none in what is no key set, or has no key for ES256 with an id', () => {
    for (const text of ['null', '[]', '{}', '{"keys":{}}', '{"keys":[]}', '{"keys":[{"kty":"oct"}]}', 'no json']) {
      expect(readCheckpointVerifier(parseStrictJson(text)), text).to.equal(undefined);
    }
    expect(setOf({ ...given(key).publicJwk, kid: undefined })).to.equal(undefined);
    expect(setOf({ ...given(key).publicJwk, use: 'enc' })).to.equal(undefined);
  });
});
