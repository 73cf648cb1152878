import { expect } from 'chai';
import { instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';
import { isSignInDated, isSignInRecent, usableSignInTime } from '../../../domain/sessions/sign-in-age.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const YEAR = 365 * 86_400;

describe('the age of a sign-in', () => {
  /** Seconds before now, negative for the future; then whether a session, and a token, is recent within 300 seconds. */
  const ages = [
    [-61, false, false],
    [-60, true, true],
    [0, true, true],
    [300, true, true],
    [301, false, true],
    [360, false, true],
    [361, false, false],
  ] as const;
  for (const [age, session, token] of ages) {
    it(`of ${age} seconds is ${session ? '' : 'not '}recent for a session, and ${token ? '' : 'not '}for a token`, () => {
      const authenticatedAt = plusSeconds(NOON, -age);
      const by = (by: 'session' | 'token', now = NOON, latest = now) =>
        isSignInRecent({ authenticatedAt, by }, 300, { now, latest });
      expect([by('session'), by('token')]).to.deep.equal([session, token]);
      // By the later clock it is older.
      expect(by('session', NOON, plusSeconds(NOON, 361))).to.equal(false);
    });
  }

  it('counts whole seconds, as the provider dates it', () => {
    const signedIn = instantFromSeconds(1_789_653_821);
    const person = { authenticatedAt: signedIn, by: 'session' } as const;
    const at = (seconds: number) => ({ now: plusSeconds(signedIn, seconds), latest: plusSeconds(signedIn, seconds) });
    expect(isSignInRecent(person, 300, at(300.9))).to.equal(true);
    expect(isSignInRecent(person, 300, at(301))).to.equal(false);
  });

  it('is unknown without a time, at a year or more, and far in the future: such a sign-in is not recent, and lifts no pause', () => {
    const dated = (authenticatedAt: ReturnType<typeof plusSeconds> | undefined) =>
      isSignInDated({ authenticatedAt }, NOON);
    expect(isSignInRecent({ authenticatedAt: undefined, by: 'token' }, 300, { now: NOON, latest: NOON })).to.equal(
      false,
    );
    for (const at of [undefined, instantFromSeconds(0), plusSeconds(NOON, -YEAR), plusSeconds(NOON, 61)]) {
      expect(dated(at), String(at)).to.equal(false);
    }
    for (const at of [plusSeconds(NOON, 1 - YEAR), NOON, plusSeconds(NOON, 60)]) {
      expect(dated(at), String(at)).to.equal(true);
    }
  });

  it('counts from now if the sign-in lies at most 60 s ahead; further ahead, its time is unknown', () => {
    expect(usableSignInTime(plusSeconds(NOON, -1), NOON)).to.equal(plusSeconds(NOON, -1));
    expect(usableSignInTime(plusSeconds(NOON, 60), NOON)).to.equal(NOON);
    expect(usableSignInTime(plusSeconds(NOON, 61), NOON)).to.equal(undefined);
    expect(usableSignInTime(undefined, NOON)).to.equal(undefined);
  });
});
