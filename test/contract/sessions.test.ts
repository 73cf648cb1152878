/** The sessions of every kind. The ledger records the sign-ins and sign-outs of operators, and of no other kind. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { logOut } from '../../application/decisions/log-out.ts';
import { closeSession, openSession, useSession } from '../../application/decisions/sessions.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { newSession, type Session, type SessionHash, sessionKinds } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { allRows, expectSqlErrors, whileWritesFail } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { asEntry, ledgerOf, newSponsorKey, openedTask, recordedBy } from './storage-fixtures.ts';

const TTL = 900;
const LATER = plusSeconds(NOON, 100);
const newHash = () => `hash-${randomUUID()}` as SessionHash;
/** Signs out as the person does. */
const closing = ({ kind, sessionHash }: Session, at: Instant = LATER) => ({ kind, sessionHash, at });
const detailOf = ({ issuer, subject, roles }: Session) =>
  new URLSearchParams({ iss: issuer, sub: subject, role: roles.join(',') }).toString();

for (const kind of sessionKinds) {
  const aSession = (changes: Partial<Session> = {}): Session => {
    const holder = {
      issuer: 'https://idp.example/é',
      subject: `ada-${randomUUID()}-é😀`,
      sponsorKey: newSponsorKey(),
      roles: kind === 'me' ? ([] as const) : (['auditor', 'responder'] as const),
      sessionId: `sid-${randomUUID()}`,
      authenticatedAt: plusSeconds(NOON, -30),
      sealedIdToken: `sealed-${randomUUID()}`,
    };
    return { ...newSession({ kind, sessionHash: newHash() }, holder, NOON, TTL), ...changes };
  };
  /** The records of the sign-ins and sign-outs: none at `/me`. */
  const signed = (how: 'in' | 'out', session: Session, at: Instant) =>
    kind === 'me' ? [] : [{ event: `operator.signed_${how}`, decision: 'allow', detail: detailOf(session), at }];

  onEveryDatabase(`the sessions of kind ${kind}`, ({ storage, database, kind: engine, outside }) => {
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
      ...{ issuer: 'https://idp.example', jti: randomUUID(), forgetAt: LATER, at: LATER, loggedOut },
      ...{ keepsTasks: true, closes: { [kind]: { statedAt, forgetAt: plusSeconds(LATER, 1000) } } },
    });
    const recorded = async (act: () => Promise<unknown>) => (await recordedBy(storage(), act)).map(asEntry);

    it('are stored with every member, for every replica, and recorded as their kind is', async () => {
      const other = await database().open();
      const full = aSession();
      const bare = aSession({
        ...{ sessionId: undefined, authenticatedAt: undefined, sealedIdToken: undefined },
        ...(kind === 'operator' && { sponsorKey: undefined, roles: ['viewer'] }),
      });
      const records = await recorded(async () => {
        for (const session of [full, bare]) {
          expect(await open(session)).to.equal('opened');
          expect(await find(session, other)).to.deep.equal(session);
        }
        expect(await storage().sessions.find(kind, 'unknown' as SessionHash)).to.equal(undefined);
        await storage().decide(closeSession, closing(full));
        expect(await areOpen([full, bare])).to.deep.equal([false, true]);
      });
      const expected = [signed('in', full, NOON), signed('in', bare, NOON), signed('out', full, LATER)];
      expect(records).to.deep.equal(expected.flat());
      await other.close();
    });

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

    it('are closed by the next sign-in in the same browser, and by no other', async () => {
      const [earlier, elsewhere] = [await opened(), await opened()];
      const at = plusSeconds(NOON, 1);
      const next = aSession({ createdAt: at });
      const records = await recorded(async () => {
        expect(await open(next, { replaces: earlier.sessionHash })).to.equal('opened');
      });
      expect(await areOpen([earlier, elsewhere, next])).to.deep.equal([false, true, true]);
      expect(records).to.deep.equal([signed('out', earlier, at), signed('in', next, at)].flat());
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

    it('that have expired, or are closed already, end without a record', async () => {
      const [expired, twice] = [await opened({ expiresAt: LATER }), await opened()];
      expect(await recorded(() => storage().decide(closeSession, closing(expired)))).to.deep.equal([]);
      expect(await find(expired)).to.equal(undefined);
      const records = await recorded(() =>
        Promise.all(Array.from({ length: 4 }, () => storage().decide(closeSession, closing(twice)))),
      );
      expect(records).to.deep.equal(signed('out', twice, LATER));
      const [replaced, next] = [await opened({ expiresAt: NOON }), aSession({ createdAt: LATER })];
      expect(await recorded(() => open(next, { replaces: replaced.sessionHash }))).to.deep.equal(
        signed('in', next, LATER),
      );
    });

    if (kind === 'operator') {
      it('do not begin, and do not end, without their record', async () => {
        const [session, kept] = [aSession(), await opened()];
        const connection = await outside('owner');
        const before = await allRows(connection);
        const acts = {
          'a sign-in': () => open(session),
          'a sign-in in the browser of another': () => open(session, { replaces: kept.sessionHash }),
          'a sign-out': () => storage().decide(closeSession, closing(kept)),
          'a logout': () => storage().decide(logOut, logout({ kind: 'person', subject: kept.subject })),
        };
        for (const [what, act] of Object.entries(acts)) {
          const outcome = await whileWritesFail(engine, connection, { table: 'ledger' }, () => thrownBy(act()));
          expect(outcome, what).to.be.instanceOf(Error);
          expect(await allRows(connection), what).to.deep.equal(before);
        }
      });
    }

    it('are of a kind, and at /me always with a sponsor key and without roles', async () => {
      const { sessionHash } = await opened();
      const connection = await outside('owner');
      const wrong = ["kind = 'other'", "kind = 'me', roles = 'viewer'", "kind = 'me', roles = '', sponsor_key = null"];
      const updates = wrong.map((values) => `update sessions set ${values} where session_hash = '${sessionHash}'`);
      await expectSqlErrors(connection, updates, /sessions_kind/);
    });

    it('are renewed by a use, and stay closed if a sign-out comes first', async () => {
      const [used, closed] = [await opened(), await opened()];
      const times = { lastUsedAt: plusSeconds(NOON, 61), expiresAt: plusSeconds(NOON, 961) };
      await storage().decide(closeSession, closing(closed));
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
      const signOuts = async (loggedOut: LoggedOut) => {
        const [signal, ...outs] = await recorded(() => storage().decide(logOut, logout(loggedOut)));
        expect(signal).to.include({ event: 'sponsor.signal', reason: 'sponsor_logged_out' });
        return outs;
      };
      const first = await signOuts({ kind: 'session', sessionId, subject: undefined });
      expect(first).to.have.deep.members([one, same].flatMap((session) => signed('out', session, LATER)));
      expect(await areOpen(sessions)).to.deep.equal([false, false, true, true, true]);
      const next = await signOuts({ kind: 'session', sessionId, subject });
      expect(next).to.deep.equal(signed('out', unnamed, LATER));
      expect(await areOpen(sessions)).to.deep.equal([false, false, false, true, true]);
    });

    it('are closed by a logout of the person, which ends no task, and is recorded once', async () => {
      const [one, two, other] = [await opened(), await opened(), await opened()];
      const { subject } = one;
      const second = await opened({ subject });
      const { task, grantHash } = await openedTask(storage(), { sponsor: subject });
      // The operators' own provider: its `sub` names no person whom agents act for.
      const isOfOperators = kind === 'operator';
      const signal = { ...logout({ kind: 'person', subject }), isOfOperators };
      const [recordOfSignal, ...outs] = await recordedBy(storage(), async () => {
        expect(await storage().decide(logOut, signal)).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
        expect(await storage().decide(logOut, signal)).to.deep.equal({ kind: 'repeated' });
      });
      const sponsor = isOfOperators ? undefined : subject;
      const expected = { event: 'sponsor.signal', reason: 'sponsor_logged_out', sponsor };
      expect(recordOfSignal).to.deep.include(expected);
      expect(outs.map(asEntry)).to.have.deep.members([one, second].flatMap((each) => signed('out', each, LATER)));
      expect(await areOpen([one, second, two, other])).to.deep.equal([false, false, true, true]);
      const grant = await storage().tasks.findGrant(task.agentId, grantHash);
      expect(grant?.taskState.kind).to.equal('live');
    });

    it('stay open if the logout is for the client of the tasks alone', async () => {
      const session = await opened();
      const { closes: _, ...forTasks } = logout({ kind: 'person', subject: session.subject });
      await storage().decide(logOut, { ...forTasks, keepsTasks: false });
      expect(await areOpen([session])).to.deep.equal([true]);
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
      while ((await storage().sweeping.forget(LATER, 1000)) > 0);
      expect(await areOpen([over, live])).to.deep.equal([false, true]);
      expect(await ledgerOf(storage())).to.deep.equal(before);
    });
  });
}
