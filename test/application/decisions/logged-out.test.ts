import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import { instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

describe('Remembered logouts', () => {
  const forgetAt = plusSeconds(NOON, 100);

  for (const [title, ofPerson, ofSession, issuedAt, refused] of [
    ['no logout', undefined, undefined, NOON, false],
    ['a logout of its session, even if it was issued later', undefined, 0, plusSeconds(NOON, 9), true],
    ['a logout of its session, if it has no iat', undefined, 0, undefined, true],
    ['a later logout of its person', 1, undefined, NOON, true],
    ['a logout of its person in the same second', 0, undefined, NOON, true],
    ['an earlier logout of its person', -1, undefined, NOON, false],
    ['a logout of its person, if it has no iat', -1, undefined, undefined, true],
    ['an earlier logout of its person, and a logout of its session', -1, 0, NOON, true],
  ] as const) {
    it(`${refused ? 'refuse' : 'accept'} a subject token after ${title}${refused ? ', until it is forgotten' : ''}`, () => {
      const known = [ofPerson, ofSession].map((seconds) =>
        seconds === undefined ? undefined : { statedAt: plusSeconds(NOON, seconds), forgetAt },
      );
      expect(isLoggedOut(known, issuedAt, instantFromMicros(forgetAt - 1))).to.equal(refused);
      expect(isLoggedOut(known, issuedAt, forgetAt), 'once it is forgotten').to.equal(false);
    });
  }

  it('of the tokens without a session refuse as a logout of the person does', () => {
    const known = [undefined, undefined, { statedAt: NOON, forgetAt }];
    expect(isLoggedOut(known, NOON, instantFromMicros(forgetAt - 1))).to.equal(true);
    expect(isLoggedOut(known, undefined, instantFromMicros(forgetAt - 1))).to.equal(true);
    expect(isLoggedOut(known, plusSeconds(NOON, 1), NOON)).to.equal(false);
    expect(isLoggedOut(known, NOON, forgetAt)).to.equal(false);
  });

  it('refuse no subject token if no logout was read', () => {
    expect(isLoggedOut([], NOON, NOON)).to.equal(false);
  });

  it('are read for the person, and for the session of the subject token or for the tokens without one', () => {
    const ofPerson = ask('logout', { kind: 'person', name: 'ada' });
    const ofSession = ask('logout', { kind: 'session', name: 'session-1' });
    const ofNone = ask('logout', { kind: 'person_without_session', name: 'ada' });
    expect(logoutQuestions({ subject: 'ada', sessionId: undefined })).to.deep.equal([ofPerson, undefined, ofNone]);
    expect(logoutQuestions({ subject: 'ada', sessionId: 'session-1' })).to.deep.equal([ofPerson, ofSession]);
  });
});
