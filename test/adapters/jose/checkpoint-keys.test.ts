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

describe('The keys of checkpoints', () => {
  let [key, other]: [SigningKey | undefined, SigningKey | undefined] = [undefined, undefined];
  before(async () => {
    [key, other] = [await generateSigningKey(), await generateSigningKey()];
  });
  const given = (one: SigningKey | undefined): SigningKey => {
    if (one === undefined) throw new Error('no key');
    return one;
  };
  const setOf = (...keys: readonly unknown[]) => readCheckpointVerifier(parseStrictJson(JSON.stringify({ keys })));

  it('verify each published signature for its own checkpoint only', async () => {
    const verifier = checkpointVerifier({ keys: [publishedLedger.jwk] });
    const checkpoints = publishedLedger.checkpoints.map(readCheckpoint);
    for (const [index, { kid, signature }] of checkpoints.entries()) {
      for (const [at, checkpoint] of checkpoints.entries()) {
        const verdict = await verifier.verify(kid, canonicalCheckpoint(checkpoint), signature);
        expect(verdict).to.equal(index === at ? 'verified' : 'invalid_signature');
      }
    }
  });

  it('sign in 64 bytes of lowercase hex, and verify that signature', async () => {
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

  it('verify a signature only in its canonical encoding', async () => {
    const signer = checkpointSigner(given(key));
    const verifier = checkpointVerifier({ keys: [given(key).publicJwk] });
    const signature = await signer.sign(TEXT);
    // If the signature has no letter to capitalize, its first digit becomes one.
    const capitals = signature.toUpperCase() === signature ? `A${signature.slice(1)}` : signature.toUpperCase();
    const longer = [` ${signature}`, `${signature}\n`, `${signature}00`, `0x${signature}`];
    for (const spelling of ['', '00'.repeat(64), capitals, signature.slice(2), ...longer]) {
      expect(await verifier.verify(signer.kid, TEXT, spelling)).to.equal('invalid_signature');
    }
  });

  it('are found in a foreign set with unusable keys and repeated kids', async () => {
    const signer = checkpointSigner(given(key));
    const signature = await signer.sign(TEXT);
    const sameId = { ...given(other).publicJwk, kid: given(key).keyId };
    const rsa = { kty: 'RSA', kid: given(key).keyId, n: 'AQAB', e: 'AQAB' };
    const offCurve = { ...given(key).publicJwk, y: given(key).publicJwk.x };
    const nameless = { ...given(key).publicJwk, kid: undefined };
    const set = setOf(rsa, 'no key', offCurve, sameId, nameless, given(key).publicJwk);
    expect(await set?.verify(signer.kid, TEXT, signature)).to.equal('verified');
    expect(await setOf(sameId)?.verify(signer.kid, TEXT, signature)).to.equal('invalid_signature');
    expect(await setOf(given(other).publicJwk)?.verify(signer.kid, TEXT, signature)).to.equal('unknown_key');
    // A key that cannot be imported counts as unknown.
    expect(await setOf(offCurve)?.verify(signer.kid, TEXT, signature)).to.equal('unknown_key');
  });

  it('cannot be read from a text that is no key set, or has no ES256 key with a kid', () => {
    for (const text of ['null', '[]', '{}', '{"keys":{}}', '{"keys":[]}', '{"keys":[{"kty":"oct"}]}', 'no json']) {
      expect(readCheckpointVerifier(parseStrictJson(text)), text).to.equal(undefined);
    }
    expect(setOf({ ...given(key).publicJwk, kid: undefined })).to.equal(undefined);
    expect(setOf({ ...given(key).publicJwk, use: 'enc' })).to.equal(undefined);
  });
});
