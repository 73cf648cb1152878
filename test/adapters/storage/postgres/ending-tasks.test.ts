import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { ulid } from 'ulid';
import { postgresDecisions } from '../../../../adapters/storage/postgres/decide.ts';
import * as limits from '../../../../adapters/storage/postgres/limits.ts';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';
import {
  type Connections,
  openConnections,
  type Run,
  type Statement,
} from '../../../../adapters/storage/postgres/pool/pool.ts';
import { append } from '../../../../application/decisions/append.ts';
import { endOwnTasks, endTasks } from '../../../../application/decisions/end-tasks.ts';
import type { TaskOpening } from '../../../../application/decisions/open-task.ts';
import { placePause } from '../../../../application/decisions/place-block.ts';
import { revokeGrant } from '../../../../application/decisions/revoke-grant.ts';
import { type Decisions, StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { makeTokenId, makeUserId } from '../../../../domain/identifiers.ts';
import { type Instant, instantFromMillis, plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { statementsOf } from '../../../../domain/signals/provisioning-statement.ts';
import { lockAppends, untilWaiting } from '../../../contract/append-lock.ts';
import { allRows } from '../../../contract/failing-writes.ts';
import {
  anEntry,
  anOpening,
  aRenewal,
  aRevocation,
  ledgerOf,
  newSponsorKey,
  openedTask,
  registeredAgent,
  renewTimes,
} from '../../../contract/storage-fixtures.ts';
import { anAct } from '../../../contract/world.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { databases, type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { thirdByLength } from '../../../support/length.ts';
import { type Fault, LOST_RESPONSE, statementFaults } from '../../../support/statement-faults.ts';
import type { Storage } from '../../../support/storage.ts';

const KILL = { at: plusSeconds(NOON, 3), reason: 'operator_kill_switch' } as const;
const LATER = plusSeconds(NOON, 700);
const SPONSOR = newSponsorKey();

const PURGED = { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' } as const;

const at = (instant: Instant) => `'${toMicrosecondText(instant)}'::timestamptz`;

describe('decisions that end tasks on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let outside: OutsideConnection;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    storage = await database.open();
    const connection = await database.outside?.();
    if (connection === undefined) throw new Error('this database cannot be reached from outside');
    outside = connection;
  });
  after(async () => {
    await outside.close();
    await storage.close();
    await database.drop();
  });

  const lockFence = () => {
    const [postgres] = databases.filter(({ engine }) => engine === 'postgres');
    if (postgres === undefined) throw new Error('there is no Postgres to test on');
    return lockAppends(postgres, outside);
  };
  it('run four at once on separate connections while appends wait, and the process keeps to CONNECTIONS_PER_PROCESS', async () => {
    const agents = [];
    for (let nth = 0; nth < 2; nth++) agents.push((await openedTask(storage)).task.agentId);
    // Opens all connections now, so that no call waits for one while appends are locked.
    const asked = Array.from({ length: limits.BATCHED_AT_ONCE }, () => anEntry('admin.denied'));
    const openers = [endNothing(), endNothing(), logOut(), logOut()];
    await Promise.all([...asked.map((entry) => storage.ledger.append(entry)), ...openers]);
    const lock = await lockFence();
    const appends = asked.map((entry) => storage.ledger.append(entry));
    // All appends share one batch.
    await lock.untilWaiting(1);
    const killed = agents.map((agentId) => storage.tasks.end({ kind: 'agent', agentId }, KILL));
    const loggedOut = agents.map(() => logOut());
    await lock.untilWaiting(1 + limits.REVOKING_POOL_SIZE);
    const [row] = await outside.sql(`select count(*)::integer as connections from pg_stat_activity
      where datname = current_database() and application_name = 'mandate'`);
    expect(row?.connections).to.be.within(1 + limits.REVOKING_POOL_SIZE, limits.CONNECTIONS_PER_PROCESS);
    await lock.release();
    expect(await Promise.all(killed)).to.deep.equal(agents.map(() => ({ kind: 'ended', tasks: 1 })));
    expect(await Promise.all(loggedOut)).to.deep.equal(agents.map(() => ({ kind: 'accepted', revokedTasks: 0 })));
    await Promise.allSettled(appends);
  });

  it('leave half of their separate connections to signals, however often an operator repeats a kill switch', async () => {
    const { task } = await openedTask(storage);
    await outside.sql('begin');
    await outside.sql(`select pg_advisory_xact_lock(${LOCK.agent}, hashtext('${task.agentId}'))`);
    const asked = Array.from({ length: limits.REVOKING_POOL_SIZE }, () =>
      storage.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL),
    );
    await untilWaiting(outside, limits.REVOKING_SHARES.operators);
    expect(await logOut()).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
    await outside.sql('commit');
    const ended = (await Promise.all(asked)).map((outcome) => outcome.kind === 'ended' && outcome.tasks);
    expect(ended.toSorted()).to.deep.equal([0, 0, 0, 1]);
  });

  it("leave one of an operator's connections free of people's stops and pauses, however many wait", async () => {
    const sponsorKey = newSponsorKey();
    const { task } = await openedTask(storage);
    await outside.sql('begin');
    await outside.sql(`select pg_advisory_xact_lock(${LOCK.sponsor}, hashtext('${sponsorKey}'))`);
    const block = { sponsorKey, source: 'self', kind: 'disabled', blockedAt: NOON } as const;
    const waiting = [1, 2].flatMap(() => [
      storage.decide(endOwnTasks, { selection: { kind: 'sponsor', sponsorKey }, at: NOON, reason: 'sponsor_stopped' }),
      storage.decide(placePause, { block, reason: 'sponsor_paused' }),
    ]);
    await untilWaiting(outside, limits.REVOKING_SHARES.people);
    const killed = await storage.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL);
    expect(killed).to.deep.equal({ kind: 'ended', tasks: 1 });
    await outside.sql('commit');
    await Promise.all(waiting);
  });

  for (const whose of ['agent', 'person'] as const) {
    it(`leave connections to others while many decisions wait for one ${whose}`, async () => {
      const sponsorKey = newSponsorKey();
      const agents = await Promise.all([registeredAgent(storage), registeredAgent(storage)]);
      const held = whose === 'agent' ? agents.slice(0, 1) : agents;
      const asked = held.flatMap((agent) =>
        Array.from({ length: limits.POOL_SIZE }, () => anOpening(agent, { sponsorKey })),
      );
      const others = [await openedTask(storage)];
      if (whose === 'agent') others.push(await openedTask(storage, { sponsorKey }, agents[1]));
      await outside.sql('begin');
      const [lock, key] = whose === 'agent' ? [LOCK.agent, held[0]?.agentId] : [LOCK.sponsor, sponsorKey];
      await outside.sql(`select pg_advisory_xact_lock(${lock}, hashtext('${key}'))`);
      const opened = asked.map((opening) => storage.tasks.open(opening));
      await untilWaiting(outside, whose === 'agent' ? limits.CONNECTIONS_PER_AGENT : limits.CONNECTIONS_PER_PERSON);
      for (const other of others) {
        const facts = await storage.tasks.tokenFacts(makeTokenId(ulid()), other.task.taskId);
        expect(facts?.taskState.kind).to.equal('live');
        expect((await storage.tasks.renew(aRenewal(other))).kind).to.equal('renewed');
      }
      await outside.sql('commit');
      // No waiting decision timed out, so the calls above ran while they waited.
      const outcomes = await Promise.all(opened);
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(asked.map(() => 'opened'));
    });
  }

  it('leave connections to other agents while the tasks of three agents end', async () => {
    const agents = await Promise.all([1, 2, 3].map(() => registeredAgent(storage)));
    const other = await openedTask(storage);
    await outside.sql('begin');
    for (const { agentId } of agents) {
      await outside.sql(`select pg_advisory_xact_lock(${LOCK.agent}, hashtext('${agentId}'))`);
    }
    const opened = agents.flatMap((agent) =>
      Array.from({ length: limits.CONNECTIONS_PER_AGENT }, () => storage.tasks.open(anOpening(agent))),
    );
    await untilWaiting(outside, limits.POOL_SIZE - limits.RESERVED_CONNECTIONS);
    expect((await storage.tasks.renew(aRenewal(other))).kind).to.equal('renewed');
    await outside.sql('commit');
    expect((await Promise.all(opened)).map(({ kind }) => kind)).to.deep.equal(opened.map(() => 'opened'));
  });

  it('wait longer than other decisions for a decision about the same person, and then succeed', async () => {
    const { task } = await openedTask(storage, { sponsorKey: SPONSOR, sponsor: SPONSOR });
    const withRealLimits = await database.open({ limits: limits.LIMITS });
    const waits = limits.SERVING_LIMITS.lock + 300;
    await outside.sql('begin');
    await outside.sql(`select pg_advisory_xact_lock(${LOCK.sponsor}, hashtext('${SPONSOR}'))`);
    await outside.sql(`select pg_advisory_xact_lock(${LOCK.agent}, hashtext('${task.agentId}'))`);
    const block = { sponsorKey: SPONSOR, source: 'scim', kind: 'disabled', blockedAt: KILL.at } as const;
    const user = {
      userId: makeUserId(ulid()),
      userName: SPONSOR,
      externalId: undefined,
      sponsorKey: SPONSOR,
      active: false,
      revision: 1,
      createdAt: NOON,
      modifiedAt: NOON,
    };
    const signal = () => ({ issuer: 'https://idp.example', jti: randomUUID(), forgetAt: LATER, at: KILL.at });
    const action = { ...PURGED, sponsorKey: SPONSOR, statedAt: NOON } as const;
    const decisions = [
      withRealLimits.tasks.end({ kind: 'sponsor', sponsorKey: SPONSOR }, KILL),
      withRealLimits.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL),
      withRealLimits.sponsors.block(block, 'scim_deactivated'),
      withRealLimits.signals.logOut({ ...signal(), loggedOut: { kind: 'person', subject: SPONSOR } }),
      withRealLimits.signals.applySecurityEvent({ ...signal(), action }),
      withRealLimits.provisionedUsers.create(user, { statements: statementsOf(undefined, user), at: KILL.at }, 10),
    ];
    await pause(waits);
    await outside.sql('commit');
    const outcomes = await Promise.allSettled(decisions);
    await withRealLimits.close();
    expect(outcomes.map(({ status }) => status)).to.deep.equal(outcomes.map(() => 'fulfilled'));
    const ends = (await ledgerOf(storage)).filter(
      ({ taskId, event }) => taskId === task.taskId && event === 'task.revoked',
    );
    expect(ends).to.have.length(1);
  });

  it('use as many statements for hundreds of tasks as for some', async () => {
    const agent = await registeredAgent(storage);
    const stopping = counting(oneConnection());
    const { decide } = decidingOver(stopping);
    for (const tasks of [limits.FEW_ENDED + 1, 300]) {
      await outside.sql(liveTasksOf(agent, tasks));
      const ended = await decide(endTasks, { selection: { kind: 'agent', agentId: agent.agentId }, ...KILL });
      expect(ended).to.deep.equal({ kind: 'ended', tasks });
    }
    await stopping.close();
    const [some, hundreds] = stopping.statements;
    expect(hundreds).to.equal(some);
  });

  for (const [what, decideAll] of [
    ['revocations by grant', (all, { decide }) => all.map((opening) => decide(revokeGrant, aRevocation(opening)))],
    [
      'revocations by grant between other decisions',
      (all, { decide }) =>
        all.flatMap((opening) => [decide(append, anEntry('admin.denied')), decide(revokeGrant, aRevocation(opening))]),
    ],
    ["an operator's stops of one task", (all, { decide }) => all.map((opening) => decide(endTasks, stopOf(opening)))],
    ["people's stops of one task", (all, { decide }) => all.map((opening) => decide(endOwnTasks, stopOf(opening)))],
  ] as const satisfies readonly (readonly [string, (all: readonly TaskOpening[], by: Decisions) => unknown])[]) {
    it(`share a transaction and its statements: ${what}`, async () => {
      const connections = counting(oneConnection());
      const decisions = decidingOver(connections);
      for (const tasks of [2, limits.BATCHED_AT_ONCE / 2]) {
        const openings = [];
        for (let nth = 0; nth < tasks; nth++) openings.push(await openedTask(storage));
        await Promise.all(decideAll(openings, decisions));
        for (const { task, entry } of openings) {
          const facts = await storage.tasks.tokenFacts(entry.jti as never, task.taskId);
          expect(facts?.taskState.kind).to.equal('revoked');
        }
      }
      await connections.close();
      const { statements } = connections;
      expect(statements, 'transactions').to.have.length(2);
      expect(statements[1]).to.equal(statements[0]);
    });
  }

  it('have a transaction each if they record the act of an operator', async () => {
    const connections = counting(oneConnection());
    const { decide } = decidingOver(connections);
    const openings = [await openedTask(storage), await openedTask(storage)];
    await Promise.all(
      openings.map((opening) => decide(endTasks, { ...stopOf(opening), act: anAct('DELETE /admin/tasks/{id}') })),
    );
    await connections.close();
    expect(connections.statements).to.have.length(openings.length);
  });

  for (const [what, end, hasEnded] of [
    [
      'revocations by grant',
      ({ decide }, opening) => decide(revokeGrant, aRevocation(opening)),
      (verdict) => verdict === 'revoked',
    ],
    [
      "an operator's stops of one task",
      ({ decide }, opening) => decide(endTasks, stopOf(opening)),
      (verdict) => isDeepStrictEqual(verdict, { kind: 'ended', tasks: 1 }),
    ],
  ] as const satisfies readonly (readonly [
    string,
    (by: Decisions, opening: TaskOpening) => Promise<unknown>,
    (verdict: unknown) => boolean,
  ])[]) {
    it(`end each task once, and answer none without its record, whichever statement of a batch fails: ${what}`, async function () {
      this.timeout(120_000);
      const uri = new URL(database.settings['Service:Database:ConnectionString'] ?? '');
      const faults = await statementFaults(Number(uri.port));
      const connections = openConnections(
        {
          connectionString: Object.assign(uri, { port: String(faults.port) }).href,
          poolSize: 2,
          limits: limits.REVOKING_LIMITS,
        },
        capturedLog(),
      );
      const decisions = decidingOver(connections);
      const agent = await registeredAgent(storage);
      /** Ends three tasks at once: the first was renewed, and the last is of another agent. */
      const ended = async (nth: number, fault: Fault) => {
        const openings = await Promise.all([
          openedTask(storage, {}, agent),
          openedTask(storage, {}, agent),
          openedTask(storage),
        ]);
        await renewTimes(storage, openings[0], 2);
        faults.arm(nth, fault);
        const outcomes = await Promise.allSettled(openings.map((opening) => end(decisions, opening)));
        const statements = faults.disarm();
        const verdicts = outcomes.map((outcome) => {
          if (outcome.status === 'fulfilled') return hasEnded(outcome.value);
          expect(outcome.reason).to.be.instanceOf(StorageUnavailable);
          return 'refused';
        });
        return { openings, verdicts, statements };
      };
      const eventsOf = async ({ task: { taskId } }: TaskOpening) => {
        const { records } = await storage.ledger.page({ taskId, limit: 100, now: LATER });
        return records.map(({ event }) => event);
      };
      await ended(0, LOST_RESPONSE);
      const { statements } = await ended(0, LOST_RESPONSE);
      for (let nth = 1; nth <= statements; nth++) {
        const kinds = [
          // A deadlock, an error of one statement, a session that ends between two statements, and a lost answer.
          [{ sqlState: '40P01' }, true, [false]],
          [{ sqlState: '23514' }, true, [false]],
          [{ sqlState: '57P01', ends: 'session' }, 'refused', [true]],
          // The statements behind it in its packet, with the commit, may be executed.
          [LOST_RESPONSE, 'refused', nth === statements ? [false] : [true, false]],
        ] as const;
        for (const [fault, verdict, left] of nth === statements
          ? kinds
          : thirdByLength<(typeof kinds)[number]>(kinds, nth)) {
          const about = `${nth} ${fault.sqlState}`;
          const { openings, verdicts } = await ended(nth, fault);
          expect([...new Set(verdicts)], about).to.deep.equal([verdict]);
          // The callers ask again: these ends wait for what is still under way.
          const again = new Set<boolean>();
          for (const opening of openings) again.add(hasEnded(await end(decisions, opening)));
          expect(again, about).to.have.property('size', 1);
          expect(left, about).to.include([...again][0]);
          const [ofRenewed, ...ofOthers] = await Promise.all(openings.map(eventsOf));
          expect(ofRenewed, about).to.deep.equal([
            'token.issued',
            'token.refreshed',
            'token.refreshed',
            'task.revoked',
          ]);
          for (const events of ofOthers) expect(events, about).to.deep.equal(['token.issued', 'task.revoked']);
        }
      }
      await connections.close();
      await faults.close();
    });
  }

  it('change nothing and throw StorageUnavailable beyond their time limit, and succeed with more time', async function () {
    this.timeout(60_000);
    const TASKS = 5_000;
    const agent = await registeredAgent(storage);
    await outside.sql(liveTasksOf(agent, TASKS));
    const end = async (statement: number) => {
      const stopping = oneConnection({ ...limits.REVOKING_LIMITS, lock: statement / 2, statement });
      try {
        const selection = { kind: 'agent', agentId: agent.agentId } as const;
        return await decidingOver(stopping).decide(endTasks, { selection, ...KILL });
      } finally {
        await stopping.close();
      }
    };
    const before = await allRows(outside);
    expect(await end(10).catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    expect(await allRows(outside)).to.deep.equal(before);
    expect(await end(limits.REVOKING_LIMITS.statement)).to.deep.equal({ kind: 'ended', tasks: TASKS });
  });

  it('also end tasks that are over by the clock of the instance, but not by that of the server', async () => {
    const stopping = oneConnection();
    const { decide } = decidingOver(stopping);
    for (const [end, tasks] of [
      ["now() + interval '30 minutes'", 2],
      ["now() - interval '1 second'", 0],
    ] as const) {
      const agent = await registeredAgent(storage);
      await outside.sql(liveTasksOf(agent, 2));
      await outside.sql(`update tasks set expires_at = ${end} where agent_id = '${agent.agentId}'`);
      const inAnHour = instantFromMillis(Date.now() + 3_600_000);
      const selection = { kind: 'agent', agentId: agent.agentId } as const;
      expect(await decide(endTasks, { selection, ...KILL, at: inAnHour })).to.deep.equal({ kind: 'ended', tasks });
    }
    await stopping.close();
  });

  function oneConnection(within = limits.REVOKING_LIMITS) {
    const connectionString = String(database.settings['Service:Database:ConnectionString']);
    return openConnections({ connectionString, poolSize: 1, limits: within }, capturedLog());
  }

  /** Counts the statements of each transaction. */
  function counting(connections: Connections) {
    const statements: number[] = [];
    const counted = (run: Run, nth: number): Run => {
      return (query, values) => {
        statements[nth] = (statements[nth] ?? 0) + 1;
        return run(query, values);
      };
    };
    const begun = () => statements.push(0) - 1;
    return {
      ...connections,
      statements,
      transact: <Answer>(work: (run: Run) => Promise<Answer>) => {
        const nth = begun();
        return connections.transact((run) => work(counted(run, nth)));
      },
      readThenWrite: <Facts, Answer>(
        read: (run: Run) => Promise<Facts>,
        write: (send: (statement: Statement) => void, facts: Facts) => Answer,
      ) => {
        const nth = begun();
        return connections.readThenWrite(
          (run) => read(counted(run, nth)),
          (send, facts) => {
            const sent = (statement: Statement) => {
              statements[nth] = (statements[nth] ?? 0) + 1;
              send(statement);
            };
            return write(sent, facts);
          },
        );
      },
    };
  }

  const stopOf = ({ task: { taskId, sponsorKey } }: TaskOpening) =>
    ({ selection: { kind: 'task', taskId, sponsorKey }, ...KILL }) as const;

  const decidingOver = (connections: ReturnType<typeof oneConnection>) =>
    postgresDecisions({
      own: connections,
      operator: connections,
      person: connections,
      provider: connections,
      writeMessage: async () => undefined,
    });

  /** Inserts live tasks with their grants by SQL, because decisions would take long. */
  function liveTasksOf({ agentId }: Agent, tasks: number): string {
    const prefix = `task_${randomUUID()}`;
    return `insert into tasks (task_id, agent_id, sponsor_key, sponsor, session_id, audience, scope,
        delegation_depth, created_at, expires_at)
      select '${prefix}' || nth, '${agentId}', 'key-' || nth, 'sub-' || nth, 'sid-' || nth, 'https://jira.example',
        'jira:read', 1, ${at(NOON)}, ${at(LATER)} from generate_series(1, ${tasks}) as nth;
      insert into task_grants (grant_hash, task_id, scope, renewals, unrecorded)
      select 'grant-' || task_id, task_id, scope, 3, 2 from tasks where task_id like '${prefix}%'`;
  }

  async function endNothing(): Promise<void> {
    await storage.tasks.end({ kind: 'sponsor', sponsorKey: newSponsorKey() }, KILL);
  }

  function logOut() {
    const signal = { issuer: 'https://idp.example', jti: randomUUID(), forgetAt: LATER, at: KILL.at };
    return storage.signals.logOut({ ...signal, loggedOut: { kind: 'person', subject: newSponsorKey() } });
  }
});
