import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  applySecurityEvent,
  type SecurityEventVerdict,
  type SecuritySignal,
} from '../../application/decisions/apply-security-event.ts';
import { type LogoutSignal, logOut } from '../../application/decisions/log-out.ts';
import type { OpenVerdict, TaskOpening } from '../../application/decisions/open-task.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase, type SuiteDatabase } from './on-every-database.ts';
import { outsideConnection } from './outside-connection.ts';
import { repetitions } from './repetitions.ts';
import {
  anEntry,
  anOpening,
  asEntry,
  endRecordsOf,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const ROUNDS = repetitions(4);

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

/** @param endsTasksWithoutSession `Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession` */
function bothLogout(sessionId: string, subject: string, endsTasksWithoutSession: boolean): LogoutSignal {
  return { ...sessionLogout(sessionId, subject), endsTasksWithoutSession };
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

/** The transmitter states the event at this whole second, before the service accepts it. */
const STATED = plusSeconds(NOON, 60);

function anEvent(what: keyof typeof ACTIONS, sponsorKey: SponsorKey, statedAt = STATED): SecuritySignal {
  return { ...anOccurrence(), action: { sponsorKey, statedAt, ...ACTIONS[what] } };
}

const stateOf = async ({ storage }: SuiteDatabase, { task, grantHash }: TaskOpening) =>
  (await storage().tasks.findGrant(task.agentId, grantHash))?.taskState.kind;

type Signal = LogoutSignal | SecuritySignal;

const sendTo =
  ({ storage }: SuiteDatabase) =>
  (signal: Signal, process = storage()): Promise<SecurityEventVerdict> =>
    'loggedOut' in signal ? process.decide(logOut, signal) : process.decide(applySecurityEvent, signal);

/** The provider states the logout before the service accepts it. The service stores it for a day. */
const LOGGED_OUT = plusSeconds(NOON, 80);
const A_DAY = 86_400;
const remembered = (signal: LogoutSignal, statedAt = LOGGED_OUT): LogoutSignal => ({
  ...signal,
  remember: { statedAt, forgetAt: plusSeconds(LATER, A_DAY) },
});

/** An exchange after the signal. @param issuedAt the `iat` of its subject token */
async function aLaterOpening(
  { storage }: SuiteDatabase,
  of: Partial<TaskOpening['task']>,
  issuedAt: Instant | undefined,
): Promise<TaskOpening> {
  const createdAt = plusSeconds(LATER, 10);
  const changes = { createdAt, expiresAt: plusSeconds(createdAt, 900), ...of };
  const opening = anOpening(await registeredAgent(storage()), changes);
  return { ...opening, refuseLoggedOut: { issuedAt, earliest: opening.task.createdAt } };
}

onEveryDatabase('a stored logout', (stage) => {
  const { storage } = stage;
  const send = sendTo(stage);
  const open = async (of: Partial<TaskOpening['task']>, issuedAt: Instant | undefined) =>
    (await storage().tasks.open(await aLaterOpening(stage, of, issuedAt))).kind;

  it('refuses only subject tokens of its session or its person', async () => {
    const { sponsor, sponsorKey, sessionId = '' } = (await openedTask(storage())).task;
    await send(remembered(sessionLogout(sessionId, sponsor)));
    expect(await open({ sponsor, sessionId }, plusSeconds(LATER, 9))).to.equal('logged_out');
    for (const of of [{ sponsor }, { sponsor, sessionId: sessionId.toUpperCase() }, { sponsor: sessionId }]) {
      expect(await open(of, NOON)).to.equal('opened');
    }
    await send(remembered(personLogout(sponsor)));
    for (const of of [{ sponsor }, { sponsor, sponsorKey, sessionId: undefined }]) {
      expect(await open(of, LOGGED_OUT)).to.equal('logged_out');
    }
    // A logout finds a person by sub, not by sponsor key, and finds a session by its own kind of id.
    for (const of of [{ sponsorKey }, { sessionId: sponsor }]) expect(await open(of, NOON)).to.equal('opened');
  });

  it('of a person and a session, with the setting, also refuses the tokens of the person without a session', async () => {
    const [sponsor, sessionId] = [`ada-${randomUUID()}`, randomUUID()];
    await send(remembered(bothLogout(sessionId, sponsor, true)));
    const without = { sponsor, sessionId: undefined };
    for (const issuedAt of [undefined, LOGGED_OUT]) expect(await open(without, issuedAt)).to.equal('logged_out');
    expect(await open({ sessionId }, plusSeconds(LATER, 9))).to.equal('logged_out');
    expect(await open(without, plusSeconds(LOGGED_OUT, 1))).to.equal('opened');
    for (const of of [{ sponsor }, { sessionId: undefined }]) expect(await open(of, NOON)).to.equal('opened');
  });

  it('is stored with the latest statement and the latest expiry, and refuses tokens until then, to the microsecond', async () => {
    const [latest, over] = [plusSeconds(LOGGED_OUT, 5), plusSeconds(LATER, A_DAY)];
    const sponsor = `ada-${randomUUID()}`;
    for (const statedAt of [LOGGED_OUT, latest, LOGGED_OUT]) await send(remembered(personLogout(sponsor), statedAt));
    expect(await open({ sponsor }, latest)).to.equal('logged_out');
    expect(await open({ sponsor }, plusSeconds(latest, 1))).to.equal('opened');
    const lasting = { sponsor, expiresAt: plusSeconds(over, 900) };
    expect(await open({ ...lasting, createdAt: instantFromMicros(over - 1) }, latest)).to.equal('logged_out');
    expect(await open({ ...lasting, createdAt: over }, latest)).to.equal('opened');
  });
});

onEveryDatabase('a signal', (stage) => {
  const { storage } = stage;
  const send = sendTo(stage);

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
      expect(await send(sessionLogout(sessionId))).to.deep.equal({ kind: 'accepted', revokedTasks: 3 });
    });
    const reason = 'sponsor_logged_out';
    expect(records.map(asEntry)).to.deep.equal([
      anEntry('sponsor.signal', { at: LATER, sponsor, reason }),
      ...endRecordsOf(quiet, { at: LATER, event: 'task.revoked', reason }),
      ...endRecordsOf(busy, { at: LATER, event: 'task.revoked', reason }, 4),
      ...endRecordsOf(child, { at: LATER, event: 'task.revoked', reason: 'parent_revoked' }),
    ]);
    const grant = await storage().tasks.findGrant(busy.task.agentId, busy.grantHash);
    expect(grant).to.deep.include({ taskState: { kind: 'revoked', at: LATER, reason }, revokedAt: LATER });
    for (const other of others) expect(await stateOf(stage, other)).to.equal('live');
  });

  it('as a logout of a session ends a delegated task that has no session, because its parent ends', async () => {
    const parent = await openedTask(storage());
    const child = await openedTask(storage(), { parentTaskId: parent.task.taskId, sessionId: undefined });
    const records = await recordedBy(storage(), () => send(sessionLogout(parent.task.sessionId)));
    expect(records.slice(1).map(asEntry)).to.deep.equal([
      ...endRecordsOf(parent, { at: LATER, event: 'task.revoked', reason: 'sponsor_logged_out' }),
      ...endRecordsOf(child, { at: LATER, event: 'task.revoked', reason: 'parent_revoked' }),
    ]);
  });

  it('as a logout of a session that two people share ends the tasks of both, and names no person', async () => {
    const { sessionId } = (await openedTask(storage())).task;
    const second = await openedTask(storage(), { sessionId });
    const records = await recordedBy(storage(), () => send(sessionLogout(sessionId)));
    expect(records.map(({ event }) => event)).to.deep.equal(['sponsor.signal', 'task.revoked', 'task.revoked']);
    expect(records[0]?.sponsor).to.equal(undefined);
    expect(await stateOf(stage, second)).to.equal('revoked');
  });

  it('as a logout of a person and a session ends the tasks of no session only with the setting, and else says so', async () => {
    const [sponsor, sessionId] = [`ada-${randomUUID()}`, randomUUID()];
    const without = await openedTask(storage(), { sponsor, sessionId: undefined });
    const child = await openedTask(storage(), { parentTaskId: without.task.taskId, sessionId: undefined });
    const others = [
      await openedTask(storage(), { sponsor }),
      await openedTask(storage(), { sessionId: undefined }),
      await openedTask(storage(), { sponsorKey: sponsor as SponsorKey, sessionId: undefined }),
      await openedTask(storage(), { sponsor, sessionId: undefined, expiresAt: LATER }),
    ];
    const left = { leavesTasksWithoutSession: true };
    const accepted = { kind: 'accepted', revokedTasks: 0, ...left };
    const nothing = await recordedBy(storage(), async () => {
      expect(await send(bothLogout(sessionId, sponsor, false))).to.deep.equal(accepted);
    });
    const reason = 'sponsor_logged_out';
    const none = 'sponsor_logged_out_no_tasks';
    expect(nothing.map(asEntry)).to.deep.equal([anEntry('sponsor.signal', { at: LATER, sponsor, reason: none })]);

    const own = await openedTask(storage(), { sponsor, sessionId });
    const one = await recordedBy(storage(), async () => {
      const verdict = { kind: 'accepted', revokedTasks: 1, ...left };
      expect(await send(bothLogout(sessionId, sponsor, false))).to.deep.equal(verdict);
    });
    expect(one.map((record) => record.reason)).to.deep.equal([reason, reason]);
    expect(await stateOf(stage, own)).to.equal('revoked');
    expect(await stateOf(stage, without)).to.equal('live');

    const last = await openedTask(storage(), { sponsor, sessionId });
    const records = await recordedBy(storage(), async () => {
      const verdict = { kind: 'accepted', revokedTasks: 3 };
      expect(await send(bothLogout(sessionId, sponsor, true))).to.deep.equal(verdict);
    });
    expect(records.map(asEntry)).to.deep.equal([
      anEntry('sponsor.signal', { at: LATER, sponsor, reason }),
      ...endRecordsOf(without, { at: LATER, event: 'task.revoked', reason }),
      ...endRecordsOf(child, { at: LATER, event: 'task.revoked', reason: 'parent_revoked' }),
      ...endRecordsOf(last, { at: LATER, event: 'task.revoked', reason }),
    ]);
    for (const other of others) expect(await stateOf(stage, other)).to.equal('live');
    // No task without a session goes on, so the record says nothing about one.
    const over = await recordedBy(storage(), () => send(bothLogout(sessionId, sponsor, false)));
    expect(over.map(asEntry)).to.deep.equal([anEntry('sponsor.signal', { at: LATER, sponsor, reason })]);
  });

  it('as a logout of a person ends all live tasks of that sub, whatever their sponsor key', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const own = [await openedTask(storage(), { sponsor }), await openedTask(storage(), { sponsor })];
    const others = [
      await openedTask(storage(), { sponsorKey: sponsor as SponsorKey }),
      await openedTask(storage(), { sponsor, expiresAt: LATER }),
    ];
    const records = await recordedBy(storage(), async () => {
      expect(await send(personLogout(sponsor))).to.deep.equal({ kind: 'accepted', revokedTasks: 2 });
    });
    expect(records[0]).to.include({ event: 'sponsor.signal', sponsor, reason: 'sponsor_logged_out' });
    for (const opening of own) expect(await stateOf(stage, opening)).to.equal('revoked');
    for (const opening of others) expect(await stateOf(stage, opening)).to.equal('live');
  });

  it('as a security event places, changes and lifts its own block, and ends the tasks of the person', async () => {
    const opening = await openedTask(storage());
    const { sponsorKey, sponsor } = opening.task;
    const at = (seconds: number) => plusSeconds(STATED, seconds);
    const stranger = await openedTask(storage(), { sponsor });
    await renewTimes(storage(), opening, 3);
    // The block keeps the time at which the first event was accepted.
    const block = { sponsorKey, source: 'ssf', kind: 'disabled', blockedAt: NOON } as const;
    const deleted = { ...block, kind: 'deleted' };
    const ends = ['token.refreshed undefined', 'task.revoked ssf_account_disabled'];
    for (const [event, kind, revokedTasks, blocks, reason, further] of [
      [{ ...anEvent('disabled', sponsorKey), at: NOON }, 'accepted', 1, [block], 'ssf_account_disabled', ends],
      [anEvent('purged', sponsorKey, at(20)), 'accepted', 0, [deleted], 'ssf_account_purged', []],
      [anEvent('enabled', sponsorKey, at(19)), 'outdated', 0, [deleted], 'ssf_account_enabled_outdated', []],
      [anEvent('enabled', sponsorKey, at(20)), 'accepted', 0, [], 'ssf_account_enabled', []],
    ] as const) {
      const records = await recordedBy(storage(), async () => {
        expect(await send(event)).to.deep.equal({ kind, revokedTasks });
      });
      expect(records[0]?.sponsor).to.equal(sponsorKey);
      const brief = records.map((record) => `${record.event} ${record.reason}`);
      expect(brief).to.deep.equal([`sponsor.signal ${reason}`, ...further]);
      expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal(blocks);
    }
    expect(await stateOf(stage, opening)).to.equal('revoked');
    expect(await stateOf(stage, stranger)).to.equal('live');
  });

  it('is accepted once for each receiver, issuer and jti', async () => {
    const { sponsor, sponsorKey } = (await openedTask(storage())).task;
    const signal = personLogout(sponsor);
    const { issuer, jti } = signal;
    const event = { ...anEvent('revoked', sponsorKey), issuer, jti };
    const issuedElsewhere = { issuer: 'https://other.example' };
    await send(signal);
    const records = await recordedBy(storage(), async () => {
      expect(await send(signal)).to.deep.equal({ kind: 'repeated' });
      expect((await send(event)).kind).to.equal('accepted');
      expect(await send(event)).to.deep.equal({ kind: 'repeated' });
      expect((await send({ ...signal, ...issuedElsewhere })).kind).to.equal('accepted');
      expect((await send({ ...event, ...issuedElsewhere })).kind).to.equal('accepted');
    });
    expect(records).to.have.length(3);
  });

  for (const what of ['a logout', 'a security event']) {
    it(`as ${what} is applied once if twenty equal signals arrive concurrently`, async () => {
      const { task } = await openedTask(storage());
      const signal = what === 'a logout' ? sessionLogout(task.sessionId) : anEvent('disabled', task.sponsorKey);
      const records = await recordedBy(storage(), async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => send(signal)));
        const accepted = outcomes.filter(({ kind }) => kind === 'accepted');
        expect(accepted).to.deep.equal([{ kind: 'accepted', revokedTasks: 1 }]);
      });
      expect(records.map((record) => record.event)).to.deep.equal(['sponsor.signal', 'task.revoked']);
    });
  }
});

onEveryDatabase(
  'a signal, beside other decisions or failing writes,',
  (stage) => {
    const { storage, database } = stage;
    const { outside, secondWaitsForFirst, expectRollback } = outsideConnection(stage);
    const open =
      (opening: TaskOpening, process = storage()) =>
      () =>
        process.tasks.open(opening);
    const send = sendTo(stage);

    it('is stored with its receiver and issuer, and the time after which it may be deleted', async () => {
      const logout = personLogout('nobody');
      const event = anEvent('enabled', newSponsorKey());
      await send(logout);
      await send({ ...event, issuer: 'https://transmitter.example' });
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
      it(`changes nothing if a write to ${fault.table} fails, and is accepted if it arrives again`, async () => {
        const { task } = await openedTask(storage());
        const logout = remembered(personLogout(task.sponsor));
        const event = anEvent('disabled', task.sponsorKey);
        await expectRollback(fault, () => send(logout));
        // A security event writes no logout.
        if (fault.table !== 'logouts') await expectRollback(fault, () => send(event));
        expect(await send(event)).to.deep.include({ revokedTasks: 1 });
        expect(await send(logout)).to.deep.include({ kind: 'accepted' });
      });
    }

    const personNamed = (name: string) => ({ sponsor: name, sponsorKey: name as SponsorKey });
    const people = [
      ['sub is the sponsor key', () => personNamed(randomUUID())],
      ['sub is another than the sponsor key', () => ({})],
    ] as const;
    const ofPerson = ({ task }: TaskOpening) => personLogout(task.sponsor);
    const ofSession = ({ task }: TaskOpening) => sessionLogout(task.sessionId);
    const besideSession = ({ task }: TaskOpening) => bothLogout(randomUUID(), task.sponsor, true);
    const none = { sessionId: undefined };
    const blocked = { kind: 'sponsor_blocked', block: 'deleted' } as const;
    /** Each signal with the verdict of a later exchange, and what the task must be like. */
    const signals: readonly (readonly [
      what: string,
      about: (opening: TaskOpening) => Signal,
      later: OpenVerdict,
      of?: Partial<TaskOpening['task']>,
    ])[] = [
      ['a logout of the person', ofPerson, { kind: 'opened' }],
      ['a logout of the session', ofSession, { kind: 'opened' }],
      ['session-revoked', ({ task }) => anEvent('revoked', task.sponsorKey), { kind: 'opened' }],
      ['a remembered logout of the person', (opening) => remembered(ofPerson(opening)), { kind: 'logged_out' }],
      ['a remembered logout of the session', (opening) => remembered(ofSession(opening)), { kind: 'logged_out' }],
      ['a logout of the person and another session', besideSession, { kind: 'opened' }, none],
      [
        'a remembered logout of the person and another session',
        (opening) => remembered(besideSession(opening)),
        { kind: 'logged_out' },
        none,
      ],
      ['account-purged', ({ task }) => anEvent('purged', task.sponsorKey), blocked],
    ];

    for (const [who, changes] of people) {
      for (const [what, signal, later, of] of signals) {
        it(`as ${what} waits for a running exchange, and ends its task (${who})`, async () => {
          const opening = await aLaterOpening(stage, { ...changes(), ...of }, LOGGED_OUT);
          const outcomes = await secondWaitsForFirst(open(opening), () => send(signal(opening)));
          expect(outcomes).to.deep.equal([{ kind: 'opened' }, { kind: 'accepted', revokedTasks: 1 }]);
          expect(await stateOf(stage, opening)).to.equal('revoked');
        });

        it(`as ${what} lets a later exchange wait, whose verdict is ${later.kind} (${who})`, async () => {
          const opening = await aLaterOpening(stage, { ...changes(), ...of }, LOGGED_OUT);
          const outcomes = await secondWaitsForFirst(() => send(signal(opening)), open(opening));
          expect(outcomes).to.deep.equal([{ kind: 'accepted', revokedTasks: 0 }, later]);
        });
      }
    }

    it('leaves no live task that was opened before it, on any of three processes', async function () {
      this.timeout(30_000 + ROUNDS * 6_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const each = Array.from({ length: ROUNDS }, (_, round) => signals.map((one) => [round, ...one] as const)).flat();
      for (const [nth, [round, , signal, later, of]] of each.entries()) {
        const opening = await aLaterOpening(stage, { ...of }, LOGGED_OUT);
        const sent = signal(opening);
        const { taskId, sponsorKey } = opening.task;
        const starts = [open(opening, processes[nth % 3]), () => send(sent, processes[(nth + round + 1) % 3])];
        if (round % 2 === 1) starts.reverse();
        let opened: { readonly kind: string } | undefined;
        const records = await recordedBy(storage(), async () => {
          opened = (await Promise.all(starts.map((start) => start())))[round % 2];
        });
        const state = await stateOf(stage, opening);
        if (opened?.kind !== 'opened') {
          expect([opened, state]).to.deep.equal([later, undefined]);
        } else if (state !== 'revoked') {
          // The live task was opened after the signal, so no block is left and the record of the signal comes first.
          expect(later.kind).to.equal('opened');
          expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
          const inOrder = records.toSorted((one, other) => one.seq - other.seq);
          expect(inOrder.map((record) => [record.event, record.taskId])).to.deep.equal([
            ['sponsor.signal', undefined],
            ['token.issued', taskId],
          ]);
        }
      }
      await Promise.all(processes.map((process) => process.close()));
    });

    it('as a logout of a session waits for another end of its tasks, and then records no person', async () => {
      const { task } = await openedTask(storage());
      const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
      const records = await recordedBy(storage(), async () => {
        const outcomes = await secondWaitsForFirst(
          () => storage().tasks.end({ kind: 'agent', agentId: task.agentId }, kill),
          () => send(sessionLogout(task.sessionId)),
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
  },
  databases,
);
