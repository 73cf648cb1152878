import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import { isChallenge, verifierMatches } from '../../../domain/authorization/authorization.ts';

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const challengeOf = (verifier: string) => Buffer.from(sha256(verifier), 'hex').toString('base64url');

describe('A code challenge', () => {
  it('is the base64url of a SHA-256', () => {
    expect(isChallenge(CHALLENGE)).to.equal(true);
    for (const text of [CHALLENGE.slice(1), `${CHALLENGE}A`, `${CHALLENGE}=`, `${CHALLENGE.slice(0, -1)}N`, '']) {
      expect(isChallenge(text), text).to.equal(false);
    }
    expect(isChallenge(CHALLENGE.replace('-', '+'))).to.equal(false);
  });

  it('fits its verifier, and no other', () => {
    expect(verifierMatches(CHALLENGE, VERIFIER, sha256)).to.equal(true);
    expect(verifierMatches(CHALLENGE, VERIFIER.replace('d', 'e'), sha256)).to.equal(false);
    expect(verifierMatches(CHALLENGE.toLowerCase(), VERIFIER, sha256)).to.equal(false);
  });

  it('fits only a verifier of 43 to 128 unreserved characters', () => {
    for (const [verifier, fits] of [
      ['a'.repeat(42), false],
      ['a'.repeat(43), true],
      ['~._-'.repeat(32), true],
      ['a'.repeat(129), false],
      [`${'a'.repeat(42)}+`, false],
      [`${'a'.repeat(42)}é`, false],
      [`${'a'.repeat(43)}\n`, false],
    ] as const) {
      expect(verifierMatches(challengeOf(verifier), verifier, sha256), verifier).to.equal(fits);
    }
  });
});
