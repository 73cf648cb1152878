import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { logOut } from '../../application/decisions/log-out.ts';
import {
  closeOperatorSession,
  openOperatorSession,
  useOperatorSession,
} from '../../application/decisions/operator-sessions.ts';
import { openSession } from '../../application/decisions/sessions.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { OperatorPerson } from '../../domain/operators/operator.ts';
import { newOperatorSession, type OperatorSession } from '../../domain/operators/operator-session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { newSession, type SessionHash } from '../../domain/sponsors/session.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { allRows, whileWritesFail } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { asEntry, newSponsorKey, openedTask, recordedBy } from './storage-fixtures.ts';

const LATER = plusSeconds(NOON, 100);
/** Signs out as the operator does. */
const closing = ({ sessionHash }: OperatorSession, at: Instant = LATER) => ({ sessionHash, at });
const detailOf = ({ operator }: OperatorSession) =>
  new URLSearchParams({
    ...{ iss: operator.issuer, sub: operator.subject },
    role: operator.roles.join(','),
  }).toString();
const signed = (how: 'in' | 'out', session: OperatorSession) => ({
  event: `operator.signed_${how}`,
  decision: 'allow',
  detail: detailOf(session),
});
const newHash = () => `hash-${randomUUID()}` as SessionHash;

function anOperator(changes: Partial<OperatorPerson> = {}): OperatorPerson {
  const named = {
    issuer: 'https://idp.example/é',
    subject: `olga-${randomUUID()}-😀`,
    sponsorKey: `key-${randomUUID()}`,
  };
  return { kind: 'person', ...named, roles: ['auditor', 'responder'], ...changes };
}

function aSession(changes: Partial<OperatorSession> = {}): OperatorSession {
  const who = { operator: anOperator(), sessionId: `sid-${randomUUID()}`, sealedIdToken: `sealed-${randomUUID()}` };
  return { ...newOperatorSession(newHash(), who, NOON), ...changes };
}

onEveryDatabase('the sessions of the console', ({ storage, database, kind, outside }) => {
  const open = (session: OperatorSession, changes: { replaces?: SessionHash; issuedAt?: Instant } = {}) =>
    storage().decide(openOperatorSession, { session, issuedAt: NOON, replaces: undefined, ...changes });
  const opened = async (changes: Partial<OperatorSession> = {}): Promise<OperatorSession> => {
    const session = aSession(changes);
    expect(await open(session)).to.equal('opened');
    return session;
  };
  const find = ({ sessionHash }: OperatorSession, from = storage()) => from.operatorSessions.find(sessionHash);
  const areOpen = (sessions: readonly OperatorSession[]) =>
    Promise.all(sessions.map(async (session) => (await find(session)) !== undefined));
  /** A logout for the client of the console, and for no other client. */
  const logout = (loggedOut: LoggedOut, statedAt = LATER) => ({
    ...{ issuer: 'https://idp.example', jti: randomUUID(), forgetAt: LATER, at: LATER, loggedOut },
    ...{ keepsTasks: true, closesOperatorSessions: { statedAt, forgetAt: plusSeconds(LATER, 1000) } },
  });

  const recorded = async (act: () => Promise<unknown>) => (await recordedBy(storage(), act)).map(asEntry);

  it('are stored with every member, for every replica, and the ledger has each sign-in and sign-out', async () => {
    const other = await database().open();
    const full = aSession();
    const bare = aSession({
      sessionId: undefined,
      operator: anOperator({ sponsorKey: undefined, roles: ['viewer'] }),
    });
    const records = await recorded(async () => {
      for (const session of [full, bare]) {
        expect(await open(session)).to.equal('opened');
        expect(await find(session, other)).to.deep.equal(session);
      }
      await storage().decide(closeOperatorSession, closing(full));
      expect(await areOpen([full, bare])).to.deep.equal([false, true]);
    });
    expect(records).to.deep.equal([
      { ...signed('in', full), at: NOON },
      { ...signed('in', bare), at: NOON },
      { ...signed('out', full), at: LATER },
    ]);
    await other.close();
  });

  it('are closed by the next sign-in in the same browser, which the ledger has as a sign-out', async () => {
    const [earlier, next] = [await opened(), aSession({ createdAt: plusSeconds(NOON, 1) })];
    const records = await recorded(() => open(next, { replaces: earlier.sessionHash }));
    expect(await areOpen([earlier, next])).to.deep.equal([false, true]);
    const at = plusSeconds(NOON, 1);
    expect(records).to.deep.equal([
      { ...signed('out', earlier), at },
      { ...signed('in', next), at },
    ]);
  });

  it('are at most 20 of one operator: the one that would end first is signed out', async () => {
    const operator = anOperator();
    const sessions: OperatorSession[] = [];
    const records = await recorded(async () => {
      for (let nth = 0; nth < 22; nth += 1) {
        sessions.push(await opened({ operator, expiresAt: plusSeconds(LATER, nth) }));
      }
    });
    expect(await areOpen(sessions)).to.deep.equal(sessions.map((_, nth) => nth >= 2));
    expect(records.filter(({ event }) => event === 'operator.signed_out').length).to.equal(2);
    // The browser's earlier session leaves room.
    const [, , , , replaced] = sessions;
    await open(aSession({ operator }), { replaces: replaced?.sessionHash ?? newHash() });
    expect(await areOpen(sessions)).to.deep.equal(sessions.map((_, nth) => nth >= 2 && nth !== 4));
  });

  it('that have expired, or are closed already, end without a record', async () => {
    const [expired, twice] = [await opened({ expiresAt: LATER }), await opened()];
    expect(await recorded(() => storage().decide(closeOperatorSession, closing(expired)))).to.deep.equal([]);
    expect(await find(expired)).to.equal(undefined);
    const records = await recorded(() =>
      Promise.all(Array.from({ length: 4 }, () => storage().decide(closeOperatorSession, closing(twice)))),
    );
    expect(records).to.deep.equal([{ ...signed('out', twice), at: LATER }]);
    const [replaced, next] = [await opened({ expiresAt: NOON }), aSession({ createdAt: LATER })];
    expect(await recorded(() => open(next, { replaces: replaced.sessionHash }))).to.deep.equal([
      { ...signed('in', next), at: LATER },
    ]);
  });

  it('do not begin, and do not end, without their record', async () => {
    const [session, kept] = [aSession(), await opened()];
    const connection = await outside('owner');
    const before = await allRows(connection);
    const acts = {
      'a sign-in': () => open(session),
      'a sign-in in the browser of another': () => open(session, { replaces: kept.sessionHash }),
      'a sign-out': () => storage().decide(closeOperatorSession, closing(kept)),
      'a logout': () => storage().decide(logOut, logout({ kind: 'person', subject: kept.operator.subject })),
    };
    for (const [what, act] of Object.entries(acts)) {
      const outcome = await whileWritesFail(kind, connection, { table: 'ledger' }, () => thrownBy(act()));
      expect(outcome, what).to.be.instanceOf(Error);
      expect(await allRows(connection), what).to.deep.equal(before);
    }
  });

  it('are renewed by a use, and stay closed if a sign-out comes first', async () => {
    const [used, closed] = [await opened(), await opened()];
    const times = { lastUsedAt: plusSeconds(NOON, 61), expiresAt: plusSeconds(NOON, 961) };
    await storage().decide(closeOperatorSession, closing(closed));
    for (const { sessionHash } of [used, closed]) await storage().decide(useOperatorSession, { sessionHash, ...times });
    expect(await find(used)).to.deep.equal({ ...used, ...times });
    expect(await find(closed)).to.equal(undefined);
  });

  it('are closed by a logout of their session or person, which ends no task and no session of /me', async () => {
    const operator = anOperator();
    const { subject } = operator;
    const [one, unnamed, second, other] = [
      await opened({ operator }),
      await opened({ operator, sessionId: undefined }),
      await opened({ operator }),
      await opened(),
    ];
    const { task } = await openedTask(storage(), { sponsor: subject });
    const person = { subject, sponsorKey: newSponsorKey(), sessionId: one.sessionId, authenticatedAt: undefined };
    const ofMe = newSession(newHash(), { ...person, sealedIdToken: undefined }, NOON, 900);
    await storage().decide(openSession, { session: ofMe, issuedAt: NOON, replaces: undefined });
    const { sessionId = '' } = one;
    const ofSession = await recorded(() => storage().decide(logOut, logout({ kind: 'session', sessionId, subject })));
    const [signal, ...outs] = ofSession;
    expect(signal).to.include({ event: 'sponsor.signal', reason: 'sponsor_logged_out' });
    expect(outs).to.have.deep.members([one, unnamed].map((session) => ({ ...signed('out', session), at: LATER })));
    expect(await areOpen([one, unnamed, second, other])).to.deep.equal([false, false, true, true]);
    const records = await recordedBy(storage(), () =>
      storage().decide(logOut, { ...logout({ kind: 'person', subject }), isOfOperators: true }),
    );
    // The operators' own provider: its `sub` names no person whom agents act for.
    expect(records.map(({ event, reason, sponsor }) => [event, reason, sponsor])).to.deep.equal([
      ['sponsor.signal', 'sponsor_logged_out', undefined],
      ['operator.signed_out', undefined, undefined],
    ]);
    expect(records[1]?.detail).to.equal(detailOf(second));
    expect(await areOpen([second, other])).to.deep.equal([false, true]);
    expect((await storage().tasks.findListed(task.taskId, NOON))?.state.kind).to.equal('live');
    expect(await storage().sessions.find(ofMe.sessionHash)).to.not.equal(undefined);
  });

  it('do not open after a logout that came between the code and the session', async () => {
    const session = aSession();
    await storage().decide(logOut, logout({ kind: 'person', subject: session.operator.subject }));
    expect(await open(session)).to.equal('logged_out');
    expect(await open(session, { issuedAt: plusSeconds(LATER, 1) })).to.equal('opened');
    const ended = aSession();
    await storage().decide(logOut, logout({ kind: 'session', sessionId: ended.sessionId ?? '', subject: undefined }));
    expect(await open(ended, { issuedAt: plusSeconds(LATER, 1) })).to.equal('logged_out');
    const unnamed = aSession({ sessionId: undefined });
    const { subject } = unnamed.operator;
    await storage().decide(logOut, logout({ kind: 'session', sessionId: `sid-${randomUUID()}`, subject }));
    expect(await open(unnamed, { issuedAt: LATER })).to.equal('logged_out');
    expect(await open(unnamed, { issuedAt: plusSeconds(LATER, 1) })).to.equal('opened');
  });

  it('are forgotten by the sweeper once they have ended', async () => {
    const [ended, lasting] = [await opened({ expiresAt: LATER }), await opened({ expiresAt: plusSeconds(LATER, 1) })];
    while ((await storage().sweeping.forget(LATER, 1000)) > 0);
    expect(await areOpen([ended, lasting])).to.deep.equal([false, true]);
  });
});
