/** The ledger records the sign-ins and sign-outs of operators, and of no other kind of session. */

import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { logoutQuestions } from '../../../application/decisions/logged-out.ts';
import { closeSession, openSession, useSession } from '../../../application/decisions/sessions.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { MOST_SESSIONS, type Session, type SessionHash, sessionKinds } from '../../../domain/sessions/session.ts';
import { aSession } from '../../contract/world.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const LATER = plusSeconds(NOON, 100);

for (const kind of sessionKinds) {
  const roles = kind === 'me' ? ([] as const) : (['auditor', 'responder'] as const);
  const session = aSession({ kind, roles, createdAt: NOON });
  const { subject, sessionId = '', sessionHash } = session;
  const opening = { session, issuedAt: NOON, replaces: undefined };
  const clear = { logouts: [undefined, undefined], earlier: [], own: [] };
  const other = (changes: Partial<Session> = {}) => aSession({ kind, roles, subject, expiresAt: LATER, ...changes });
  const closed = (sessions: readonly Session[]) =>
    sessions.map((each) => ({ effect: 'close_session', sessionHash: each.sessionHash }));
  const record = (how: 'in' | 'out', { issuer, subject: sub }: Session, at: Instant) => {
    const detail = new URLSearchParams({ iss: issuer, sub, role: roles.join(',') }).toString();
    return { at, event: `operator.signed_${how}`, decision: 'allow', detail };
  };
  const recorded = (...entries: readonly ReturnType<typeof record>[]) =>
    kind === 'me' || entries.length === 0 ? [] : [{ effect: 'append', entries }];
  const opened = (closing: readonly Session[], outs: readonly Session[] = closing) => ({
    verdict: 'opened',
    effects: [
      ...closed(closing),
      { effect: 'insert_session', ...session },
      ...recorded(...outs.map((each) => record('out', each, NOON)), record('in', session, NOON)),
    ],
  });

  describe(`Sessions of kind ${kind}`, () => {
    it('open, and are recorded as their kind is', () => {
      expect(openSession.judge(opening, clear)).to.deep.equal(opened([]));
    });

    it('are not opened by a sign-in from before a logout', () => {
      const logout = { statedAt: NOON, forgetAt: LATER };
      for (const logouts of [[logout], [undefined, logout], [undefined, undefined, logout]]) {
        const judged = openSession.judge(opening, { ...clear, logouts });
        expect(judged).to.deep.equal({ verdict: 'logged_out', effects: [] });
      }
      const later = { ...opening, issuedAt: plusSeconds(NOON, 1) };
      expect(openSession.judge(later, { ...clear, logouts: [logout] }).verdict).to.equal('opened');
    });

    it('close the earlier one of the same browser, which is recorded unless it has expired', () => {
      const [earlier, expired] = [other(), other({ expiresAt: NOON })];
      for (const [one, outs] of [
        [earlier, [earlier]],
        [expired, []],
      ] as const) {
        const judged = openSession.judge({ ...opening, replaces: one.sessionHash }, { ...clear, earlier: [one] });
        expect(judged).to.deep.equal(opened([one], outs));
      }
    });

    it('are at most 20 of one person: those that would end first are closed, and a replaced one leaves room', () => {
      const own = Array.from({ length: MOST_SESSIONS + 2 }, (_, nth) => other({ expiresAt: plusSeconds(LATER, nth) }));
      const surplus = own.slice(0, 3).toReversed();
      expect(openSession.judge(opening, { ...clear, own })).to.deep.equal(opened(surplus));
      const [first, , , fourth] = own;
      const replacing = (replaces: Session | undefined) =>
        openSession.judge(
          { ...opening, replaces: replaces?.sessionHash },
          { ...clear, own, earlier: replaces === undefined ? [] : [replaces] },
        );
      expect(replacing(fourth)).to.deep.equal(opened([fourth, ...surplus.slice(1)] as Session[]));
      expect(replacing(first)).to.deep.equal(opened([first, ...surplus.slice(0, 2)] as Session[]));
    });

    it('lock the person exclusively and share the provider session, and read the logouts for their page', () => {
      const replaces = 'hash' as SessionHash;
      expect(lockNames(openSession.locks(opening))).to.deep.equal([
        `exclusive subject ${subject}`,
        `shared session ${sessionId}`,
      ]);
      expect(openSession.asks({ ...opening, replaces })).to.deep.equal({
        earlier: ask('sessions', { of: kind, which: { kind: 'one', sessionHash: replaces } }),
        own: ask('sessions', { of: kind, which: { kind: 'person', subject } }),
        logouts: logoutQuestions({ subject, sessionId }, kind),
      });
    });

    it('end with a sign-out, which is recorded once, and not after they have expired', () => {
      const signOut = { kind, sessionHash, at: LATER };
      const judged = (sessions: readonly Session[]) => closeSession.judge(signOut, { sessions });
      const [live, expired] = [
        { ...session, expiresAt: plusSeconds(LATER, 1) },
        { ...session, expiresAt: LATER },
      ];
      expect(judged([live]).effects).to.deep.equal([...closed([live]), ...recorded(record('out', live, LATER))]);
      expect(judged([expired]).effects).to.deep.equal(closed([expired]));
      expect(judged([]).effects).to.deep.equal([]);
      expect(closeSession.asks(signOut).sessions).to.deep.equal(
        ask('sessions', { of: kind, which: { kind: 'one', sessionHash } }),
      );
    });

    it('are renewed by a use', () => {
      const use = { sessionHash, lastUsedAt: LATER, expiresAt: plusSeconds(LATER, 9) };
      expect(useSession.judge(use, {}).effects).to.deep.equal([{ effect: 'renew_session', ...use }]);
    });
  });
}
