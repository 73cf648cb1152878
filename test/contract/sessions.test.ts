import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { logOut } from '../../application/decisions/log-out.ts';
import { closeSession, openSession, useSession } from '../../application/decisions/sessions.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { newSession, type Session, type SessionHash } from '../../domain/sponsors/session.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { ledgerOf, newSponsorKey, openedTask, recordedBy } from './storage-fixtures.ts';

const TTL = 900;
const LATER = plusSeconds(NOON, 100);

function aSession(changes: Partial<Session> = {}): Session {
  const person = {
    ...{ subject: `ada-${randomUUID()}-é😀`, sponsorKey: newSponsorKey(), sessionId: `sid-${randomUUID()}` },
    ...{ authenticatedAt: plusSeconds(NOON, -30), sealedIdToken: `sealed-${randomUUID()}` },
  };
  return { ...newSession(`hash-${randomUUID()}` as SessionHash, person, NOON, TTL), ...changes };
}

onEveryDatabase('the sessions of the page', ({ storage, database }) => {
  const open = (session: Session, changes: { replaces?: SessionHash; issuedAt?: Instant } = {}) =>
    storage().decide(openSession, { session, issuedAt: NOON, replaces: undefined, ...changes });
  const opened = async (changes: Partial<Session> = {}): Promise<Session> => {
    const session = aSession(changes);
    expect(await open(session)).to.equal('opened');
    return session;
  };
  const find = ({ sessionHash }: Session, from = storage()) => from.sessions.find(sessionHash);
  const areOpen = (sessions: readonly Session[]) =>
    Promise.all(sessions.map(async (session) => (await find(session)) !== undefined));
  /** A logout for the client of the page, and for no other client. */
  const logout = (loggedOut: LoggedOut, statedAt = LATER) => ({
    ...{ issuer: 'https://idp.example', jti: randomUUID(), forgetAt: LATER, at: LATER, loggedOut },
    ...{ keepsTasks: true, closesSessions: { statedAt, forgetAt: plusSeconds(LATER, 1000) } },
  });

  it('are stored with every member, for every replica, and write no record', async () => {
    const other = await database().open();
    const records = await recordedBy(storage(), async () => {
      const full = await opened();
      const bare = await opened({ sessionId: undefined, authenticatedAt: undefined, sealedIdToken: undefined });
      for (const session of [full, bare]) expect(await find(session, other)).to.deep.equal(session);
      expect(await storage().sessions.find('unknown' as SessionHash)).to.equal(undefined);
      await storage().decide(closeSession, full.sessionHash);
      expect(await areOpen([full, bare])).to.deep.equal([false, true]);
    });
    expect(records).to.deep.equal([]);
    await other.close();
  });

  it('are closed by the next sign-in in the same browser, and by no other', async () => {
    const [earlier, elsewhere] = [await opened(), await opened()];
    const next = aSession();
    expect(await open(next, { replaces: earlier.sessionHash })).to.equal('opened');
    expect(await areOpen([earlier, elsewhere, next])).to.deep.equal([false, true, true]);
  });

  it('are at most 20 of one person, however many sign in at once: those that would end first are closed', async () => {
    const { subject } = await opened();
    const ends = (nth: number) => ({ subject, expiresAt: plusSeconds(LATER, nth) });
    const sessions = Array.from({ length: 19 }, (_, nth) => aSession(ends(nth)));
    const other = await opened();
    await Promise.all(sessions.map((session) => open(session)));
    const more = Array.from({ length: 5 }, (_, nth) => aSession(ends(100 + nth)));
    const second = await database().open();
    await Promise.all(
      more.map((session, nth) =>
        (nth % 2 ? second : storage()).decide(openSession, { session, issuedAt: NOON, replaces: undefined }),
      ),
    );
    await second.close();
    expect(await areOpen(sessions)).to.deep.equal(sessions.map((_, nth) => nth >= 5));
    expect(await areOpen([...more, other])).to.not.include(false);
  });

  it('are renewed by a use, and stay closed if a sign-out comes first', async () => {
    const [used, closed] = [await opened(), await opened()];
    const times = { lastUsedAt: plusSeconds(NOON, 61), expiresAt: plusSeconds(NOON, 961) };
    await storage().decide(closeSession, closed.sessionHash);
    for (const { sessionHash } of [used, closed]) await storage().decide(useSession, { sessionHash, ...times });
    expect(await find(used)).to.deep.equal({ ...used, ...times });
    expect(await find(closed)).to.equal(undefined);
  });

  it('are closed by a logout of their provider session, with those of the person that name none', async () => {
    const one = await opened();
    const { subject } = one;
    const [same, unnamed, second, foreign] = [
      await opened({ subject: 'another', sessionId: one.sessionId }),
      await opened({ subject, sessionId: undefined }),
      await opened({ subject }),
      await opened({ sessionId: undefined }),
    ];
    const sessions = [one, same, unnamed, second, foreign];
    const { sessionId = '' } = one;
    await storage().decide(logOut, logout({ kind: 'session', sessionId, subject: undefined }));
    expect(await areOpen(sessions)).to.deep.equal([false, false, true, true, true]);
    await storage().decide(logOut, logout({ kind: 'session', sessionId, subject }));
    expect(await areOpen(sessions)).to.deep.equal([false, false, false, true, true]);
  });

  it('are closed by a logout of the person, which ends no task, and is recorded once', async () => {
    const [one, two, other] = [await opened(), await opened(), await opened()];
    const { subject } = one;
    const second = await opened({ subject });
    const { task, grantHash } = await openedTask(storage(), { sponsor: subject });
    const signal = logout({ kind: 'person', subject });
    const records = await recordedBy(storage(), async () => {
      expect(await storage().decide(logOut, signal)).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
      expect(await storage().decide(logOut, signal)).to.deep.equal({ kind: 'repeated' });
    });
    expect(records.map(({ event, reason, sponsor }) => [event, reason, sponsor])).to.deep.equal([
      ['sponsor.signal', 'sponsor_logged_out', subject],
    ]);
    expect(await areOpen([one, second, two, other])).to.deep.equal([false, false, true, true]);
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    expect(grant?.taskState.kind).to.equal('live');
  });

  it('stay open if the logout is for the client of the tasks alone', async () => {
    const session = await opened();
    const { closesSessions: _, ...forTasks } = logout({ kind: 'person', subject: session.subject });
    await storage().decide(logOut, { ...forTasks, keepsTasks: false });
    expect(await areOpen([session])).to.deep.equal([true]);
  });

  it('are not opened by a sign-in from before the logout, but by a later one', async () => {
    const [ended, signedOut] = [aSession({ createdAt: LATER }), aSession({ createdAt: LATER })];
    const { sessionId = '' } = ended;
    await storage().decide(logOut, logout({ kind: 'session', sessionId, subject: undefined }, LATER));
    await storage().decide(logOut, logout({ kind: 'person', subject: signedOut.subject }, plusSeconds(NOON, 50)));
    expect(await open(ended, { issuedAt: LATER })).to.equal('logged_out');
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
    // A logout that names no person is of its session alone.
    const other = aSession({ createdAt: LATER, sessionId: undefined });
    await storage().decide(logOut, logout({ ...loggedOut, subject: undefined }, plusSeconds(NOON, 50)));
    expect(await open(other, { issuedAt: NOON })).to.equal('opened');
  });

  it('never survive a logout that comes while they open', async function () {
    this.timeout(60_000);
    const other = await database().open();
    for (let round = 0; round < repetitions(20); round++) {
      const session = aSession(round % 8 > 3 ? { sessionId: undefined } : {});
      const { sessionId = `sid-${randomUUID()}`, subject } = session;
      const loggedOut: LoggedOut = round % 2 ? { kind: 'person', subject } : { kind: 'session', sessionId, subject };
      const decide = [() => open(session), () => other.decide(logOut, logout(loggedOut))];
      if (round % 4 > 1) decide.reverse();
      await Promise.all(decide.map((decision) => decision()));
      expect(await areOpen([session]), `round ${round}`).to.deep.equal([false]);
    }
    await other.close();
  });

  it('are deleted by the sweeper once they have ended', async () => {
    const [over, live] = [await opened({ expiresAt: LATER }), await opened({ expiresAt: plusSeconds(LATER, 1) })];
    const before = await ledgerOf(storage());
    await storage().sweeping.forget(LATER, 1000);
    expect(await areOpen([over, live])).to.deep.equal([false, true]);
    expect(await ledgerOf(storage())).to.deep.equal(before);
  });
});
