/** The sessions of every kind. The ledger records the sign-ins and sign-outs of operators, and of no other kind. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { logOut } from '../../application/decisions/log-out.ts';
import { closeSession, openSession } from '../../application/decisions/sessions.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { type Session, type SessionHash, sessionKinds } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { expectSqlErrors } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { asEntry, ledgerOf, recordedBy } from './storage-fixtures.ts';
import { aSession as anySession } from './world.ts';

const LATER = plusSeconds(NOON, 100);
const newHash = () => `hash-${randomUUID()}` as SessionHash;
/** Signs out as the person does. */
const closing = ({ kind, sessionHash }: Session, at: Instant = LATER) => ({ kind, sessionHash, at });
const detailOf = ({ issuer, subject, roles }: Session) =>
  new URLSearchParams({ iss: issuer, sub: subject, role: roles.join(',') }).toString();

for (const kind of sessionKinds) {
  const aSession = (changes: Partial<Session> = {}): Session =>
    anySession({ kind, roles: kind === 'me' ? [] : ['auditor', 'responder'], ...changes });
  /** The records of the sign-ins and sign-outs: none at `/me`. */
  const signed = (how: 'in' | 'out', session: Session, at: Instant) =>
    kind === 'me' ? [] : [{ event: `operator.signed_${how}`, decision: 'allow', detail: detailOf(session), at }];

  onEveryDatabase(`the sessions of kind ${kind}`, ({ storage, database, outside }) => {
    const open = (session: Session, changes: { replaces?: SessionHash; issuedAt?: Instant } = {}, from = storage()) =>
      from.decide(openSession, { session, issuedAt: NOON, replaces: undefined, ...changes });
    const opened = async (changes: Partial<Session> = {}): Promise<Session> => {
      const session = aSession(changes);
      expect(await open(session)).to.equal('opened');
      return session;
    };
    const find = ({ sessionHash }: Session, from = storage()) => from.sessions.find(kind, sessionHash);
    const areOpen = (sessions: readonly Session[]) =>
      Promise.all(sessions.map(async (session) => (await find(session)) !== undefined));
    /** A logout for the client of the page, and for no other client. */
    const logout = (loggedOut: LoggedOut, statedAt = LATER) => ({
      issuer: 'https://idp.example',
      jti: randomUUID(),
      forgetAt: LATER,
      at: LATER,
      loggedOut,
      keepsTasks: true,
      closes: { [kind]: { statedAt, forgetAt: plusSeconds(LATER, 1000) } },
    });
    const recorded = async (act: () => Promise<unknown>) => (await recordedBy(storage(), act)).map(asEntry);

    it('open nothing as another kind: they are neither found, nor replaced, nor closed there', async () => {
      const session = await opened();
      const { sessionId = '', subject, sessionHash } = session;
      for (const another of sessionKinds.filter((each) => each !== kind)) {
        expect(await storage().sessions.find(another, sessionHash)).to.equal(undefined);
        await storage().decide(closeSession, { ...closing(session), kind: another });
        const next = aSession({ kind: another, subject, roles: another === 'me' ? [] : ['viewer'] });
        expect(await open(next, { replaces: sessionHash })).to.equal('opened');
        const closes = { [another]: { statedAt: LATER, forgetAt: LATER } };
        for (const loggedOut of [
          { kind: 'session', sessionId, subject } as const,
          { kind: 'person', subject } as const,
        ]) {
          await storage().decide(logOut, { ...logout(loggedOut), closes });
        }
        expect(await areOpen([session])).to.deep.equal([true]);
        expect(await storage().sessions.find(another, next.sessionHash)).to.equal(undefined);
      }
    });

    it('are at most 20 of one person, however many sign in at once: those that would end first are closed', async () => {
      const { subject } = await opened();
      const ends = (nth: number) => ({ subject, expiresAt: plusSeconds(LATER, nth) });
      const sessions = Array.from({ length: 19 }, (_, nth) => aSession(ends(nth)));
      const other = await opened();
      await Promise.all(sessions.map((session) => open(session)));
      const more = Array.from({ length: 5 }, (_, nth) => aSession(ends(100 + nth)));
      const second = await database().open();
      const records = await recorded(() =>
        Promise.all(more.map((session, nth) => open(session, {}, nth % 2 ? second : storage()))),
      );
      await second.close();
      expect(await areOpen(sessions)).to.deep.equal(sessions.map((_, nth) => nth >= 5));
      expect(await areOpen([...more, other])).to.not.include(false);
      // Without the time: the ledger's never goes back.
      const signedOut = records.filter(({ event }) => event === 'operator.signed_out').map(({ detail }) => detail);
      const surplus = sessions.slice(0, 5).flatMap((session) => signed('out', session, NOON));
      expect(signedOut).to.have.members(surplus.map(({ detail }) => detail));
      // The browser's earlier session leaves room.
      const [, , , , , , replaced] = sessions;
      await open(aSession({ subject }), { replaces: replaced?.sessionHash ?? newHash() });
      expect(await areOpen(sessions)).to.deep.equal(sessions.map((_, nth) => nth >= 5 && nth !== 6));
    });

    it('are of a kind, and at /me always with a sponsor key and without roles', async () => {
      const { sessionHash } = await opened();
      const connection = await outside('owner');
      const wrong = ["kind = 'other'", "kind = 'me', roles = 'viewer'", "kind = 'me', roles = '', sponsor_key = null"];
      const updates = wrong.map((values) => `update sessions set ${values} where session_hash = '${sessionHash}'`);
      await expectSqlErrors(connection, updates, /sessions_kind/);
    });

    it('are not opened by a sign-in from before the logout, but by a later one', async () => {
      const [ended, signedOut] = [aSession({ createdAt: LATER }), aSession({ createdAt: LATER })];
      const { sessionId = '' } = ended;
      await storage().decide(logOut, logout({ kind: 'session', sessionId, subject: undefined }, LATER));
      await storage().decide(logOut, logout({ kind: 'person', subject: signedOut.subject }, plusSeconds(NOON, 50)));
      expect(await open(ended, { issuedAt: LATER })).to.equal('logged_out');
      expect(await open(ended, { issuedAt: plusSeconds(LATER, 1) })).to.equal('logged_out');
      expect(await open(signedOut, { issuedAt: plusSeconds(NOON, 50) })).to.equal('logged_out');
      expect(await areOpen([ended, signedOut])).to.deep.equal([false, false]);
      expect(await open(signedOut, { issuedAt: plusSeconds(NOON, 51) })).to.equal('opened');
    });

    it('of no provider session are not opened by a sign-in from before a logout of the person and a session', async () => {
      const unnamed = aSession({ createdAt: LATER, sessionId: undefined });
      const { subject } = unnamed;
      const named = aSession({ createdAt: LATER, subject });
      const loggedOut = { kind: 'session', sessionId: `sid-${randomUUID()}`, subject } as const;
      await storage().decide(logOut, logout(loggedOut, plusSeconds(NOON, 50)));
      expect(await open(unnamed, { issuedAt: plusSeconds(NOON, 50) })).to.equal('logged_out');
      expect(await open(named, { issuedAt: plusSeconds(NOON, 50) })).to.equal('opened');
      expect(await open(unnamed, { issuedAt: plusSeconds(NOON, 51) })).to.equal('opened');
      // A logout that names no person applies to its session only.
      const other = aSession({ createdAt: LATER, sessionId: undefined });
      await storage().decide(logOut, logout({ ...loggedOut, subject: undefined }, plusSeconds(NOON, 50)));
      expect(await open(other, { issuedAt: NOON })).to.equal('opened');
    });

    it('are deleted by the sweeper once they have ended', async () => {
      const [over, live] = [await opened({ expiresAt: LATER }), await opened({ expiresAt: plusSeconds(LATER, 1) })];
      const before = await ledgerOf(storage());
      while ((await storage().sweeping.forget(LATER, 1000)) > 0);
      expect(await areOpen([over, live])).to.deep.equal([false, true]);
      expect(await ledgerOf(storage())).to.deep.equal(before);
    });
  });
}
