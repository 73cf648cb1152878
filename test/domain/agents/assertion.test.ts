import { expect } from 'chai';
import { type AssertionVerdict, isAssertionType, judgeAssertion } from '../../../domain/agents/assertion.ts';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { claimsOf } from '../../support/claims.ts';

const NOW = 1_789_653_821;
const audiences = ['https://mandate.example', 'https://mandate.example/oauth2/token'];
const good = { aud: 'https://mandate.example', iat: NOW - 3, exp: NOW + 57, jti: 'a-jti', instance: 'pod-7' };

function judge(changes: Record<string, unknown>, latest = NOW, undoubted = latest): AssertionVerdict {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  return judgeAssertion(claimsOf(claims), {
    audiences,
    now: instantFromSeconds(NOW),
    latest: instantFromSeconds(latest),
    undoubted: instantFromSeconds(undoubted),
  });
}

const refusals: readonly [string, Record<string, unknown>, string][] = [
  ['names another audience', { aud: 'https://other.example' }, 'actor_wrong_audience'],
  ['names the service among several audiences', { aud: [...audiences] }, 'actor_wrong_audience'],
  ['names no audience', { aud: undefined }, 'actor_wrong_audience'],
  ['names an empty list', { aud: [] }, 'actor_wrong_audience'],
  ['names the issuer with a slash too many', { aud: 'https://mandate.example/' }, 'actor_wrong_audience'],
  ['has no exp', { exp: undefined }, 'actor_missing_expiry'],
  ['expired longer ago than the skew', { iat: NOW - 200, exp: NOW - 60 }, 'actor_expired'],
  ['lives 301 seconds', { iat: NOW, exp: NOW + 301 }, 'actor_lifetime_too_long'],
  [
    'has no iat and an exp beyond five minutes and the skew',
    { iat: undefined, exp: NOW + 361 },
    'actor_lifetime_too_long',
  ],
  ['was issued in the future, beyond the skew', { iat: NOW + 61, exp: NOW + 120 }, 'actor_not_yet_valid'],
  ['begins in the future, beyond the skew', { nbf: NOW + 61 }, 'actor_not_yet_valid'],
  ['has no jti', { jti: undefined }, 'actor_missing_jti'],
  ['has an empty jti', { jti: '' }, 'actor_missing_jti'],
  ['has a jti of 257 characters', { jti: 'x'.repeat(257) }, 'actor_missing_jti'],
  ['has a jti with a NUL', { jti: 'a\u0000b' }, 'actor_missing_jti'],
  ['has a jti that is a number', { jti: 7 }, 'actor_missing_jti'],
  ['has an instance of 129 characters', { instance: 'x'.repeat(129) }, 'actor_instance_too_long'],
  ['has an instance of 65 emoji: 130 UTF-16 code units', { instance: '👋'.repeat(65) }, 'actor_instance_too_long'],
  ['has a jti of 129 emoji: 258 UTF-16 code units', { jti: '👋'.repeat(129) }, 'actor_missing_jti'],
  ['has an instance that is not a string', { instance: { pod: 7 } }, 'actor_malformed'],
];

describe('the claims of a client assertion', () => {
  for (const [what, changes, reason] of refusals) {
    it(`are refused if the assertion ${what}`, () => {
      expect(judge(changes)).to.deep.equal({ kind: 'refused', reason });
    });
  }

  it('expire by the later clock, with or without an iat, and become valid by the clock of the instance', () => {
    for (const iat of [undefined, NOW - 3]) {
      expect(judge({ iat }, NOW + 116).kind).to.equal('accepted');
      expect(judge({ iat }, NOW + 117)).to.deep.equal({ kind: 'refused', reason: 'actor_expired' });
      for (const undoubted of [NOW - 3600, NOW, NOW + 116]) {
        const doubted = judge({ iat }, NOW + 117, undoubted);
        expect(doubted).to.deep.equal({ kind: 'refused', reason: 'actor_expiry_in_doubt' });
      }
    }
    const early = { iat: NOW + 61, exp: NOW + 120 };
    expect(judge(early, NOW + 100)).to.deep.equal({ kind: 'refused', reason: 'actor_not_yet_valid' });
    const long = { iat: undefined, exp: NOW + 361 };
    expect(judge(long, NOW + 100)).to.deep.equal({ kind: 'refused', reason: 'actor_lifetime_too_long' });
  });

  const acceptances: readonly [string, Record<string, unknown>][] = [
    ['is for the token endpoint', { aud: 'https://mandate.example/oauth2/token' }],
    ["has the service's issuer as the only item of a list", { aud: ['https://mandate.example'] }],
    ['expired within the skew', { iat: NOW - 119, exp: NOW - 59 }],
    ['lives exactly five minutes', { iat: NOW, exp: NOW + 300 }],
    ['has no iat and an exp at five minutes and the skew', { iat: undefined, exp: NOW + 360 }],
    ['was issued in the future, within the skew', { iat: NOW + 60, nbf: NOW + 60, exp: NOW + 120 }],
    ['has a jti of 256 characters', { jti: 'x'.repeat(256) }],
    ['has an instance of 128 characters', { instance: 'x'.repeat(128) }],
    ['has an instance of 64 emoji: 128 UTF-16 code units', { instance: '👋'.repeat(64) }],
    ['has a jti of 128 emoji: 256 UTF-16 code units', { jti: '👋'.repeat(128) }],
  ];
  for (const [what, changes] of acceptances) {
    it(`are accepted if the assertion ${what}`, () => {
      expect(judge(changes).kind).to.equal('accepted');
    });
  }

  it('say until when the jti must be stored: the exp plus the clock skew', () => {
    expect(judge({})).to.deep.equal({
      kind: 'accepted',
      jti: 'a-jti',
      forgetAt: instantFromSeconds(NOW + 117),
      latestForgetAt: instantFromSeconds(NOW - 3 + 360),
      instance: 'pod-7',
    });
    expect(judge({ iat: undefined })).to.include({ latestForgetAt: instantFromSeconds(NOW + 117) });
  });

  it('have no instance if it is blank or null', () => {
    for (const instance of ['', '  ', '\t\n', undefined, null]) {
      expect(judge({ instance })).to.include({ kind: 'accepted', instance: undefined });
    }
  });

  it('are accepted only if the typ is absent or that of an assertion', () => {
    const typed = (type: string | undefined) =>
      isAssertionType({ text: '', algorithm: 'ES256', keyId: undefined, type, claims: claimsOf({}) });
    for (const type of [
      undefined,
      'JWT',
      'jwt',
      'client-authentication+jwt',
      'application/client-authentication+jwt',
    ]) {
      expect(typed(type), type).to.equal(true);
    }
    for (const type of ['at+jwt', 'logout+jwt', 'secevent+jwt', 'dpop+jwt', 'jose', '']) {
      expect(typed(type), type).to.equal(false);
    }
  });
});
