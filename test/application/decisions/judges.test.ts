/** The rules of the judges that two concurrent decisions rest on. The contract suite tries the rest on both databases. */

import { expect } from 'chai';
import { applySecurityEvent } from '../../../application/decisions/apply-security-event.ts';
import { logOut } from '../../../application/decisions/log-out.ts';
import { isLoggedOut } from '../../../application/decisions/logged-out.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { newSponsorKey } from '../../contract/scene.ts';
import { NOON } from '../../support/domain-fixtures.ts';

describe('The judges of signals', () => {
  const signal = { issuer: 'https://idp.example', jti: 'a-jti', forgetAt: NOON, at: NOON };
  const live = { taskIds: [], delegated: new Set<never>(), sponsors: [] };

  it('do nothing for a signal that was accepted before', () => {
    const repeated = { verdict: { kind: 'repeated' }, effects: [] };
    const facts = { accepted: true, blocks: [], live, remembered: undefined };
    expect(logOut.judge({ ...signal, loggedOut: { kind: 'person', subject: 'ada' } }, facts)).to.deep.equal(repeated);
    const action = { sponsorKey: newSponsorKey(), statedAt: NOON, reasons: [], lift: true } as const;
    const event = { ...signal, action: { ...action, block: undefined, end: undefined } };
    expect(applySecurityEvent.judge(event, facts)).to.deep.equal(repeated);
  });

  it('remember each accepted signal', () => {
    const facts = { accepted: false, blocks: [], live, remembered: undefined };
    const { effects } = logOut.judge({ ...signal, loggedOut: { kind: 'person', subject: 'ada' } }, facts);
    expect(effects[0]).to.deep.include({ effect: 'accept_signal', receiver: 'logout', jti: 'a-jti' });
  });

  for (const [title, logouts, issuedAt, refused] of [
    ['no logout', [undefined, undefined], NOON, false],
    ['a logout of its session, whenever it was issued', [undefined, 0], plusSeconds(NOON, 9), true],
    ['a later logout of its person', [1, undefined], NOON, true],
    ['a logout of its person in the same second', [0, undefined], NOON, true],
    ['an earlier logout of its person', [-1, undefined], NOON, false],
    ['a logout of its person, and it has no iat', [-1, undefined], undefined, true],
  ] as const) {
    it(`${refused ? 'refuse' : 'accept'} a subject token after ${title}`, () => {
      const forgetAt = plusSeconds(NOON, 100);
      const known = logouts.map((seconds) =>
        seconds === undefined ? undefined : { statedAt: plusSeconds(NOON, seconds), forgetAt },
      );
      expect(isLoggedOut(known, issuedAt, NOON)).to.equal(refused);
      expect(isLoggedOut(known, issuedAt, forgetAt), 'once it is forgotten').to.equal(false);
    });
  }
});
