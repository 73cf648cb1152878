import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { applySecurityEvent, type SecuritySignal } from '../../application/decisions/apply-security-event.ts';
import { type LogoutSignal, logOut as logOutDecision } from '../../application/decisions/log-out.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { fromOutside } from './from-outside.ts';
import { onEveryDatabase, type Stage } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anEntry,
  anOpening,
  asEntry,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const ROUNDS = rounds(8);

const anOccurrence = () => ({
  issuer: 'https://idp.example/realms/main',
  jti: `jti-${randomUUID()}`,
  forgetAt: plusSeconds(LATER, 661),
  at: LATER,
});

function sessionLogout(sessionId: string | undefined, subject?: string): LogoutSignal {
  if (sessionId === undefined) throw new Error('the task has no session');
  return { ...anOccurrence(), loggedOut: { kind: 'session', sessionId, subject } };
}

function personLogout(subject: string): LogoutSignal {
  return { ...anOccurrence(), loggedOut: { kind: 'person', subject } };
}

const ACTIONS = {
  revoked: { reasons: ['ssf_sessions_revoked'], lift: false, block: undefined, end: 'ssf_sessions_revoked' },
  disabled: { reasons: ['ssf_account_disabled'], lift: false, block: 'disabled', end: 'ssf_account_disabled' },
  purged: { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' },
  enabled: { reasons: ['ssf_account_enabled'], lift: true, block: undefined, end: undefined },
} as const satisfies Record<string, Omit<SecurityAction, 'sponsorKey' | 'statedAt'>>;

/** Before the event is accepted, in whole seconds, as a transmitter states it. */
const STATED = plusSeconds(NOON, 60);

function anEvent(what: keyof typeof ACTIONS, sponsorKey: SponsorKey, statedAt = STATED): SecuritySignal {
  return { ...anOccurrence(), action: { sponsorKey, statedAt, ...ACTIONS[what] } };
}

/** The fields of a record about an opened task, without its event. */
const about = ({ task }: TaskOpening) => ({
  at: LATER,
  taskId: task.taskId,
  agentId: task.agentId,
  sponsor: task.sponsor,
  audience: task.audience,
  scope: 'jira:read jira:comment',
  delegationDepth: 1,
});

const stateOf = async ({ storage }: Stage, { task, grantHash }: TaskOpening) =>
  (await storage().tasks.findGrant(task.agentId, grantHash))?.taskState.kind;

/** The logout is stated before it is accepted. It is remembered for a day from its acceptance. */
const LOGGED_OUT = plusSeconds(NOON, 80);
const A_DAY = 86_400;
const remembered = (signal: LogoutSignal, statedAt = LOGGED_OUT): LogoutSignal => ({
  ...signal,
  remember: { statedAt, forgetAt: plusSeconds(LATER, A_DAY) },
});

/** A later exchange. @param issuedAt the `iat` of its subject token */
async function aLaterOpening(
  { storage }: Stage,
  of: Partial<TaskOpening['task']>,
  issuedAt: Instant | undefined,
): Promise<TaskOpening> {
  const createdAt = plusSeconds(LATER, 10);
  const changes = { createdAt, expiresAt: plusSeconds(createdAt, 900), ...of };
  return { ...anOpening(await registeredAgent(storage()), changes), refuseLoggedOut: { issuedAt } };
}

onEveryDatabase('a logout that is remembered', (stage) => {
  const { storage } = stage;
  const logOut = (signal: LogoutSignal) => storage().decide(logOutDecision, signal);
  const open = async (of: Partial<TaskOpening['task']>, issuedAt: Instant | undefined) =>
    (await storage().tasks.open(await aLaterOpening(stage, of, issuedAt))).kind;

  it('refuses tokens of its session or its person only', async () => {
    const { sponsor, sponsorKey, sessionId = '' } = (await openedTask(storage())).task;
    await logOut(remembered(sessionLogout(sessionId, sponsor)));
    expect(await open({ sponsor, sessionId }, plusSeconds(LATER, 9))).to.equal('logged_out');
    for (const of of [{ sponsor }, { sponsor, sessionId: sessionId.toUpperCase() }, { sponsor: sessionId }]) {
      expect(await open(of, NOON)).to.equal('opened');
    }
    await logOut(remembered(personLogout(sponsor)));
    for (const of of [{ sponsor }, { sponsor, sponsorKey, sessionId: undefined }]) {
      expect(await open(of, LOGGED_OUT)).to.equal('logged_out');
    }
    // By sub, as the tasks that it ends. A session can have the name of a person.
    for (const of of [{ sponsorKey }, { sessionId: sponsor }]) expect(await open(of, NOON)).to.equal('opened');
  });

  it('is stored with the latest time of several, and refuses until its last microsecond', async () => {
    const [latest, over] = [plusSeconds(LOGGED_OUT, 5), plusSeconds(LATER, A_DAY)];
    const sponsor = `ada-${randomUUID()}`;
    for (const statedAt of [LOGGED_OUT, latest, LOGGED_OUT]) await logOut(remembered(personLogout(sponsor), statedAt));
    expect(await open({ sponsor }, latest)).to.equal('logged_out');
    expect(await open({ sponsor }, plusSeconds(latest, 1))).to.equal('opened');
    const lasting = { sponsor, expiresAt: plusSeconds(over, 900) };
    expect(await open({ ...lasting, createdAt: instantFromMicros(over - 1) }, latest)).to.equal('logged_out');
    expect(await open({ ...lasting, createdAt: over }, latest)).to.equal('opened');
  });
});

onEveryDatabase('a signal', (stage) => {
  const { storage } = stage;
  const logOut = (signal: LogoutSignal) => storage().decide(logOutDecision, signal);
  const apply = (signal: SecuritySignal) => storage().decide(applySecurityEvent, signal);
  const blocksOf = (sponsorKey: SponsorKey) => storage().sponsors.findBlocks(sponsorKey);

  it('as a logout of a session ends its live tasks with their delegated tasks, and records each', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const quiet = await openedTask(storage(), { sponsor });
    const { taskId, sessionId = '' } = quiet.task;
    const busy = await openedTask(storage(), { sponsor, sessionId });
    const child = await openedTask(storage(), { parentTaskId: taskId });
    const others = [
      await openedTask(storage(), { sponsor }),
      await openedTask(storage(), { sponsor, sessionId: undefined }),
      await openedTask(storage(), { sponsor, sessionId: sessionId.toUpperCase() }),
      await openedTask(storage(), { sponsor, sessionId, expiresAt: LATER }),
    ];
    await renewTimes(storage(), busy, 5);
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(sessionLogout(sessionId))).to.deep.equal({ kind: 'accepted', revokedTasks: 3 });
    });
    const reason = 'sponsor_logged_out';
    expect(records.map(asEntry)).to.deep.equal([
      anEntry('sponsor.signal', { at: LATER, sponsor, reason }),
      anEntry('task.revoked', { ...about(quiet), reason }),
      anEntry('token.refreshed', { ...about(busy), count: 4 }),
      anEntry('task.revoked', { ...about(busy), reason }),
      anEntry('task.revoked', { ...about(child), reason: 'parent_revoked' }),
    ]);
    const grant = await storage().tasks.findGrant(busy.task.agentId, busy.grantHash);
    expect(grant).to.deep.include({ taskState: { kind: 'revoked', at: LATER, reason }, revokedAt: LATER });
    for (const other of others) expect(await stateOf(stage, other)).to.equal('live');
  });

  it('as a logout of a person ends all live tasks of that sub, whatever the sponsor key', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const own = [await openedTask(storage(), { sponsor }), await openedTask(storage(), { sponsor })];
    const others = [
      await openedTask(storage(), { sponsorKey: sponsor as SponsorKey }),
      await openedTask(storage(), { sponsor, expiresAt: LATER }),
    ];
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(personLogout(sponsor))).to.deep.equal({ kind: 'accepted', revokedTasks: 2 });
    });
    expect(records[0]).to.include({ event: 'sponsor.signal', sponsor, reason: 'sponsor_logged_out' });
    for (const opening of own) expect(await stateOf(stage, opening)).to.equal('revoked');
    for (const opening of others) expect(await stateOf(stage, opening)).to.equal('live');
  });

  it('as a security event places, restates and lifts its own block, and ends the tasks of the person', async () => {
    const opening = await openedTask(storage());
    const { sponsorKey, sponsor } = opening.task;
    const stranger = await openedTask(storage(), { sponsor });
    await renewTimes(storage(), opening, 3);
    const { taskId } = opening.task;
    const accepted = (revokedTasks: number) => ({ kind: 'accepted', revokedTasks });
    // Placed when the first event was accepted.
    const block = { sponsorKey, source: 'ssf', kind: 'disabled', blockedAt: NOON } as const;
    for (const [event, verdict, blocks, entries] of [
      [
        { ...anEvent('disabled', sponsorKey), at: NOON },
        accepted(1),
        [block],
        [
          ['sponsor.signal', sponsorKey, 'ssf_account_disabled', undefined],
          ['token.refreshed', sponsor, undefined, taskId],
          ['task.revoked', sponsor, 'ssf_account_disabled', taskId],
        ],
      ],
      [
        anEvent('purged', sponsorKey, plusSeconds(STATED, 20)),
        accepted(0),
        [{ ...block, kind: 'deleted' }],
        [['sponsor.signal', sponsorKey, 'ssf_account_purged', undefined]],
      ],
      [
        anEvent('enabled', sponsorKey, plusSeconds(STATED, 19)),
        { kind: 'outdated', revokedTasks: 0 },
        [{ ...block, kind: 'deleted' }],
        [['sponsor.signal', sponsorKey, 'ssf_account_enabled_outdated', undefined]],
      ],
      [
        anEvent('enabled', sponsorKey, plusSeconds(STATED, 20)),
        accepted(0),
        [],
        [['sponsor.signal', sponsorKey, 'ssf_account_enabled', undefined]],
      ],
    ] as const) {
      const records = await recordedBy(storage(), async () => expect(await apply(event)).to.deep.equal(verdict));
      const brief = records.map((record) => [record.event, record.sponsor, record.reason, record.taskId]);
      expect(brief).to.deep.equal(entries);
      expect(await blocksOf(sponsorKey)).to.deep.equal(blocks);
    }
    expect(await stateOf(stage, opening)).to.equal('revoked');
    expect(await stateOf(stage, stranger)).to.equal('live');
  });

  it('is accepted once per receiver, issuer and jti', async () => {
    const { sponsor, sponsorKey } = (await openedTask(storage())).task;
    const signal = personLogout(sponsor);
    const { issuer, jti } = signal;
    const event = { ...anEvent('revoked', sponsorKey), issuer, jti };
    const issuedElsewhere = { issuer: 'https://other.example' };
    await logOut(signal);
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(signal)).to.deep.equal({ kind: 'repeated' });
      expect((await apply(event)).kind).to.equal('accepted');
      expect(await apply(event)).to.deep.equal({ kind: 'repeated' });
      expect((await logOut({ ...signal, ...issuedElsewhere })).kind).to.equal('accepted');
      expect((await apply({ ...event, ...issuedElsewhere })).kind).to.equal('accepted');
    });
    expect(records).to.have.length(3);
  });

  for (const what of ['a logout', 'a security event']) {
    it(`as ${what} is applied once if twenty equal ones arrive concurrently`, async () => {
      const { task } = await openedTask(storage());
      const [logout, event] = [sessionLogout(task.sessionId), anEvent('disabled', task.sponsorKey)];
      const send = () => (what === 'a logout' ? logOut(logout) : apply(event));
      const records = await recordedBy(storage(), async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, send));
        const accepted = outcomes.filter(({ kind }) => kind === 'accepted');
        expect(accepted).to.deep.equal([{ kind: 'accepted', revokedTasks: 1 }]);
      });
      expect(records.map((record) => record.event)).to.deep.equal(['sponsor.signal', 'task.revoked']);
    });
  }
});

onEveryDatabase(
  'a signal, beside concurrent decisions and failing writes,',
  (stage) => {
    const { storage, database } = stage;
    const { outside, inTurn, expectRollback } = fromOutside(stage);
    const open = (opening: TaskOpening) => () => storage().tasks.open(opening);
    const logOut = (signal: LogoutSignal) => storage().decide(logOutDecision, signal);
    const apply = (signal: SecuritySignal) => storage().decide(applySecurityEvent, signal);

    it('is stored with its receiver, its issuer and the time to forget it', async () => {
      const logout = personLogout('nobody');
      const event = anEvent('enabled', newSponsorKey());
      await logOut(logout);
      await apply({ ...event, issuer: 'https://transmitter.example' });
      const rows = (await outside().sql('select * from accepted_signals')).map(
        ({ receiver, issuer, jti, forget_at }) => ({
          ...{ receiver, issuer, jti },
          forgetAt: forget_at instanceof Date ? forget_at.getTime() : Math.floor(Number(forget_at) / 1000),
        }),
      );
      const forgetAt = Math.floor(logout.forgetAt / 1000);
      const ours = rows.filter(({ jti }) => jti === logout.jti || jti === event.jti);
      expect(ours).to.have.deep.members([
        { receiver: 'logout', issuer: logout.issuer, jti: logout.jti, forgetAt },
        { receiver: 'ssf', issuer: 'https://transmitter.example', jti: event.jti, forgetAt },
      ]);
    });

    for (const fault of [
      { table: 'accepted_signals' },
      { table: 'logouts' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`leaves everything as it was if a write to ${fault.table} fails, and is accepted when it comes again`, async () => {
        const { task } = await openedTask(storage());
        const logout = remembered(personLogout(task.sponsor));
        const event = anEvent('disabled', task.sponsorKey);
        await expectRollback(fault, () => logOut(logout));
        // A security event is no logout.
        if (fault.table !== 'logouts') await expectRollback(fault, () => apply(event));
        expect(await apply(event)).to.deep.include({ revokedTasks: 1 });
        expect(await logOut(logout)).to.deep.include({ kind: 'accepted' });
      });
    }

    /** The person's sub and sponsor key are one where the claim is `sub`, and two where it is another. */
    const people = [
      ['sub is the sponsor key', () => personNamed(randomUUID())],
      ['sub is another than the sponsor key', () => ({})],
    ] as const;
    const personNamed = (name: string) => ({ sponsor: name, sponsorKey: name as SponsorKey });
    type Send = (opening: TaskOpening) => Promise<unknown>;
    const signals: readonly (readonly [string, Send])[] = [
      ['logout of the person', ({ task }) => logOut(personLogout(task.sponsor))],
      ['logout of the session', ({ task }) => logOut(sessionLogout(task.sessionId))],
      ['session-revoked', ({ task }) => apply(anEvent('revoked', task.sponsorKey))],
    ];

    for (const [who, changes] of people) {
      for (const [what, send] of signals) {
        it(`as a ${what} waits for an exchange and ends its task (${who})`, async () => {
          const opening = anOpening(await registeredAgent(storage()), changes());
          const outcomes = await inTurn(open(opening), () => send(opening));
          expect(outcomes).to.deep.equal([{ kind: 'opened' }, { kind: 'accepted', revokedTasks: 1 }]);
          expect(await stateOf(stage, opening)).to.equal('revoked');
        });

        it(`as a ${what} makes a later exchange wait (${who})`, async () => {
          const opening = anOpening(await registeredAgent(storage()), changes());
          const outcomes = await inTurn(() => send(opening), open(opening));
          expect(outcomes).to.deep.equal([{ kind: 'accepted', revokedTasks: 0 }, { kind: 'opened' }]);
        });
      }
    }

    for (const [who, changes] of people) {
      for (const [what, logout] of [
        ['person', ({ task }: TaskOpening) => personLogout(task.sponsor)],
        ['session', ({ task }: TaskOpening) => sessionLogout(task.sessionId)],
      ] as const) {
        it(`as a remembered logout of the ${what} makes a later exchange wait, and refuses it (${who})`, async () => {
          const opening = await aLaterOpening(stage, changes(), LOGGED_OUT);
          const outcomes = await inTurn(() => logOut(remembered(logout(opening))), open(opening));
          expect(outcomes).to.deep.equal([{ kind: 'accepted', revokedTasks: 0 }, { kind: 'logged_out' }]);
        });
      }
    }

    it('as a remembered logout leaves no live task of an older token, on any of three processes', async function () {
      this.timeout(30_000 + ROUNDS * 1_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const nth = (index: number) => processes[index % 3] ?? storage();
      for (let round = 0; round < ROUNDS; round++) {
        const opening = await aLaterOpening(stage, {}, LOGGED_OUT);
        const { sponsor, sessionId } = opening.task;
        const logout = round % 4 < 2 ? personLogout(sponsor) : sessionLogout(sessionId, sponsor);
        const send = () => nth(round).signals.logOut(remembered(logout));
        const open = () => nth(round + 1).tasks.open(opening);
        const [one, other] = await Promise.all(round % 2 === 0 ? [open(), send()] : [send(), open()]);
        const outcome = round % 2 === 0 ? one : other;
        if (outcome.kind === 'logged_out') expect(await stateOf(stage, opening)).to.equal(undefined);
        else expect(await stateOf(stage, opening)).to.equal('revoked');
      }
      await Promise.all(processes.map((process) => process.close()));
    });

    it('that blocks waits for an exchange and ends its task', async () => {
      const opening = anOpening(await registeredAgent(storage()));
      const block = () => apply(anEvent('disabled', opening.task.sponsorKey));
      const outcomes = await inTurn(open(opening), block);
      expect(outcomes).to.deep.equal([{ kind: 'opened' }, { kind: 'accepted', revokedTasks: 1 }]);
      expect(await stateOf(stage, opening)).to.equal('revoked');
    });

    it('that blocks makes a later exchange wait, and refuses it', async () => {
      const opening = anOpening(await registeredAgent(storage()));
      const block = () => apply(anEvent('purged', opening.task.sponsorKey));
      const [, opened] = await inTurn(block, open(opening));
      expect(opened).to.deep.equal({ kind: 'sponsor_blocked', block: 'deleted' });
    });

    it('as a logout of a session waits for another end of its tasks, and then names no person', async () => {
      const { task } = await openedTask(storage());
      const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
      const records = await recordedBy(storage(), async () => {
        const outcomes = await inTurn(
          () => storage().tasks.end({ kind: 'agent', agentId: task.agentId }, kill),
          () => logOut(sessionLogout(task.sessionId)),
        );
        expect(outcomes).to.deep.equal([
          { kind: 'ended', tasks: 1 },
          { kind: 'accepted', revokedTasks: 0 },
        ]);
      });
      expect(records.map(({ event, sponsor }) => [event, sponsor])).to.deep.equal([
        ['task.revoked', task.sponsor],
        ['sponsor.signal', undefined],
      ]);
    });

    it('leaves no live task that was opened before it, on any of three processes', async function () {
      this.timeout(30_000 + ROUNDS * 1_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const nth = (index: number) => processes[index % 3] ?? storage();
      const agent = await registeredAgent(storage());
      for (let round = 0; round < ROUNDS; round++) {
        const opening = anOpening(agent, { expiresAt: plusSeconds(LATER, 900) });
        const { taskId, sponsor, sponsorKey, sessionId } = opening.task;
        const { signals } = nth(round);
        const send = [
          () => signals.logOut(personLogout(sponsor)),
          () => signals.logOut(sessionLogout(sessionId, sponsor)),
          () => signals.applySecurityEvent(anEvent('disabled', sponsorKey)),
        ][round % 3];
        const open = () => nth(round + 1).tasks.open(opening);
        if (round % 2 === 0) await Promise.all([open(), send?.()]);
        else await Promise.all([send?.(), open()]);
        if ((await stateOf(stage, opening)) !== 'live') continue;
        // A live task came after the signal: no block is left, and the signal's record precedes the task's.
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
        const { records } = await storage().ledger.page({ sponsor, limit: 10, now: NOON });
        const inOrder = records.toSorted((one, other) => one.seq - other.seq);
        expect(inOrder.map((record) => [record.event, record.taskId])).to.deep.equal([
          ['sponsor.signal', undefined],
          ['token.issued', taskId],
        ]);
      }
      await Promise.all(processes.map((process) => process.close()));
    });
  },
  databases,
);
