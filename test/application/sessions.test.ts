import { expect } from 'chai';
import { sealing } from '../../adapters/platform/system-crypto.ts';
import { keepIdToken, keptIdToken } from '../../application/sessions.ts';
import { Secret } from '../../domain/secret.ts';

it('A session keeps an ID token of 4,096 characters, and none of a longer one', () => {
  for (const [length, isKept] of [
    [4096, true],
    [4097, false],
    [60_000, false],
  ] as const) {
    const idToken = 'x'.repeat(length);
    const kept = keepIdToken(sealing, 'the secret', new Secret(idToken));
    expect(kept.sealedIdToken !== undefined, `${length} characters`).to.equal(isKept);
    expect(keptIdToken(sealing, 'the secret', kept)?.reveal()).to.equal(isKept ? idToken : undefined);
  }
});
