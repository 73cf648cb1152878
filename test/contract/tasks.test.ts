/**
 * Cases of tasks that the matrices do not have: many tasks, many callers, several processes, and the use cases of the kill
 * switches.
 */

import { expect } from 'chai';
import { ulid } from 'ulid';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import { stopTasks } from '../../application/admin/stop-tasks.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { changeAgent } from '../../application/decisions/write-agent.ts';
import { stopMyTasks } from '../../application/me/stop-my-tasks.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { anAgent, NOON } from '../support/domain-fixtures.ts';
import { lockAppends, untilBlocked, untilWaiting } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aRenewal,
  aRevocation,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  withClientAssertion,
} from './storage-fixtures.ts';
import { LATER } from './world.ts';

const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
type StopService = Parameters<typeof stopTasks>[0];
const me = (sponsorKey: SponsorKey) =>
  ({ subject: 'ada', sponsorKey, sessionId: undefined, authenticatedAt: undefined, by: 'token' }) as const;

onEveryDatabase('tasks', ({ storage, database, outside, kind }) => {
  const block = async (sponsorKey: SponsorKey) => {
    const stated = { sponsorKey, source: 'admin', kind: 'deleted', blockedAt: LATER } as const;
    return (await storage().sponsors.block(stated, 'sponsor_blocked')).revokedTasks;
  };
  const change = (agent: Agent) =>
    storage().decide(changeAgent, {
      agent: { ...agent, revision: agent.revision + 1 },
      entry: anEntry('agent.updated'),
    });

  for (const [whose, stop] of [
    ["an operator's", stopTasks],
    [
      "a person's",
      (service: StopService, { taskId, sponsorKey }: Task) =>
        stopMyTasks(service, me(sponsorKey), { kind: 'task', taskId }),
    ],
  ] as const) {
    it(`are ended by ${whose} stop if only the deciding transaction knows them, with a record`, async () => {
      const { task } = await openedTask(storage());
      const service: StopService = {
        decisions: storage(),
        tasks: { findSponsor: async () => undefined },
        sharedTime: { earliest: async () => LATER },
      };
      const records = await recordedBy(storage(), async () => {
        expect(await stop(service, { ...task, kind: 'task' })).to.deep.equal({ kind: 'ended', tasks: 1 });
      });
      expect(records.map(({ event, taskId }) => [event, taskId])).to.deep.equal([['task.revoked', task.taskId]]);
    });
  }

  it('are not opened by a replay, even after all connections were reopened', async () => {
    const opening = anOpening(await registeredAgent(storage()));
    const first = await database().open();
    await first.decide(openTask, opening);
    await first.close();
    const second = await database().open();
    const again = { ...anOpening({ ...anAgent(), ...opening.task, revision: 1 }), assertion: opening.assertion };
    expect(await second.decide(openTask, again)).to.deep.equal({ kind: 'replayed' });
    expect((await second.tasks.findGrant(opening.task.agentId, opening.grantHash))?.task).to.deep.equal(opening.task);
    await second.close();
  });

  it('count fifty concurrent renewals, and record one of them', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      const verdicts = await Promise.all(Array.from({ length: 50 }, () => storage().tasks.renew(aRenewal(opening))));
      expect(verdicts.filter(({ kind }) => kind === 'renewed')).to.have.length(50);
    });
    expect(records).to.have.length(1);
    const { agentId } = opening.task;
    expect((await storage().tasks.findGrant(agentId, opening.grantHash))?.renewals).to.equal(50);
  });

  it('of one batch each get their own verdict and record, whatever the others get', async () => {
    const agent = await registeredAgent(storage());
    const stale = await registeredAgent(storage());
    await change(stale);
    const [blocked, replayed, twice] = [anOpening(agent), await openedTask(storage(), {}, agent), anOpening(agent)];
    await block(blocked.task.sponsorKey);
    const openings = [
      blocked,
      { ...anOpening(agent), assertion: replayed.assertion },
      anOpening(stale),
      twice,
      // The database refuses a second task with this id.
      { ...anOpening(agent), task: { ...anOpening(agent).task, taskId: replayed.task.taskId } },
      anOpening(agent),
    ];
    const outcomes: unknown[] = [];
    const records = await recordedBy(storage(), async () => {
      const deciding = openings.map((opening) => storage().decide(openTask, opening));
      for (const outcome of await Promise.allSettled(deciding)) {
        outcomes.push(outcome.status === 'fulfilled' ? outcome.value.kind : 'thrown');
      }
    });
    expect(outcomes).to.deep.equal(['sponsor_blocked', 'replayed', 'agent_changed', 'opened', 'thrown', 'opened']);
    const opened = openings.filter((_, nth) => outcomes[nth] === 'opened').map(({ task }) => task.taskId);
    expect(records.map(({ taskId }) => taskId)).to.have.members(opened);
  });

  it('count every refresh in the summary of a concurrent revocation, or refuse the refresh', async () => {
    for (let round = 0; round < 10; round++) {
      const opening = await openedTask(storage());
      const { agentId, taskId } = opening.task;
      const renewTen = () => Array.from({ length: 10 }, () => storage().decide(renewGrant, aRenewal(opening)));
      const renewing = renewTen();
      const revoking = storage().decide(revokeGrant, aRevocation(opening));
      const outcomes = await Promise.all([...renewing, ...renewTen()]);
      expect(await revoking).to.equal('revoked');
      const renewed = outcomes.filter(({ kind }) => kind === 'renewed').length;
      expect((await storage().tasks.findGrant(agentId, opening.grantHash))?.renewals).to.equal(renewed);
      const { records } = await storage().ledger.page({ taskId, limit: 100, now: NOON });
      const counts = records.map(({ event, count = 1 }) => (event === 'token.refreshed' ? count : 0));
      expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(renewed);
      expect(records.at(-1)?.event).to.equal('task.revoked');
    }
  });

  it('open one task if two requests present the same two assertions in either order', async () => {
    const agent = await registeredAgent(storage());
    for (let round = 0; round < repetitions(5); round++) {
      const [one, other] = [anAssertion(agent.agentId), anAssertion(agent.agentId)];
      const opened = Array.from({ length: 20 }, (_, nth) =>
        storage().decide(openTask, {
          ...anOpening(agent),
          assertion: nth % 2 === 0 ? withClientAssertion(one, other) : withClientAssertion(other, one),
        }),
      );
      const kinds = (await Promise.all(opened)).map((verdict) => verdict.kind);
      expect(kinds.toSorted()).to.deep.equal(['opened', ...Array.from({ length: 19 }, () => 'replayed')]);
    }
  });

  it('that an answer says ended are so for each process: no grant renews, and no token is active', async function () {
    this.timeout(60_000);
    const other = await database().open();
    const agent = await registeredAgent(storage());
    for (let round = 0; round < repetitions(20, 60); round++) {
      const opening = await openedTask(storage(), {}, agent);
      const { taskId, agentId, sponsorKey } = opening.task;
      const switches = [
        { kind: 'task', taskId, sponsorKey },
        { kind: 'agent', agentId },
        { kind: 'sponsor', sponsorKey },
      ] as const;
      // These renewals run during the end. One that is late may have read the grant before the end.
      const busy = Array.from({ length: 4 }, () => other.tasks.renew(aRenewal(opening)));
      await storage().tasks.end(switches[round % 3] ?? switches[0], kill);
      const facts = await other.tasks.tokenFacts(opening.entry.jti as never, taskId);
      expect(facts?.taskState.kind, `round ${round}`).to.equal('revoked');
      expect(await other.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'grant_changed' });
      await Promise.all(busy);
    }
    await other.close();
  });

  const ends = {
    'a kill of the task': ({ taskId, sponsorKey }: Task) =>
      storage().tasks.end({ kind: 'task', taskId, sponsorKey }, kill),
    'a kill of the agent': ({ agentId }: Task) => storage().tasks.end({ kind: 'agent', agentId }, kill),
    'a kill of the person': ({ sponsorKey }: Task) => storage().tasks.end({ kind: 'sponsor', sponsorKey }, kill),
    'a block': ({ sponsorKey }: Task) => block(sponsorKey),
  };
  for (const [name, end] of Object.entries(ends)) {
    it(`are ended by ${name} between two renewals: the end counts the first, and refuses the second`, async () => {
      const opening = await openedTask(storage(), { sponsorKey: newSponsorKey() });
      await renewTimes(storage(), opening, 1);
      const lock = await lockAppends(kind, await outside());
      // This renewal appends its own record, so it waits for the lock on appends.
      const first = storage().tasks.renew(aRenewal(opening, { recordEach: true }));
      await lock.untilWaiting(1);
      const ending = end(opening.task);
      await lock.untilWaiting(kind.engine === 'postgres' ? 2 : 0);
      const late = storage().tasks.renew(aRenewal(opening));
      await lock.release();
      expect((await first).kind).to.equal('renewed');
      await ending;
      expect((await late).kind).to.equal(name === 'a block' ? 'sponsor_blocked' : 'grant_changed');
      const page = await storage().ledger.page({ taskId: opening.task.taskId, limit: 10, now: NOON });
      expect(page.records.map(({ event }) => event)).to.deep.equal([
        'token.issued',
        'token.refreshed',
        'token.refreshed',
        'task.revoked',
      ]);
    });
  }

  it('are ended by one decision, two thousand at once, each with its record', async function () {
    this.timeout(60_000);
    const sponsorKey = newSponsorKey();
    const agent = await registeredAgent(storage());
    for (let opened = 0; opened < 2_000; opened += 50) {
      await Promise.all(Array.from({ length: 50 }, () => openedTask(storage(), { sponsorKey }, agent)));
    }
    expect(await block(sponsorKey)).to.equal(2_000);
    const { records } = await storage().ledger.page({ agentId: agent.agentId, limit: 5_000, now: NOON });
    const ended = records.filter((record) => record.event === 'task.revoked');
    expect(new Set(ended.map((record) => record.taskId)).size).to.equal(2_000);
  });

  if (kind.engine === 'postgres') {
    it('lock their two assertions in one order, and therefore cannot deadlock', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const { agentId } = agent;
      const [lesser, greater] = [anAssertion(agentId, `0-${ulid()}`), anAssertion(agentId, `~-${ulid()}`)];
      await connection.sql('begin');
      await connection.sql(`select pg_advisory_xact_lock(${LOCK.assertion}, hashtext('${agentId} ${lesser.jti}'))`);
      const opened = [withClientAssertion(lesser, greater), withClientAssertion(greater, lesser)].map((assertion) =>
        storage().decide(openTask, { ...anOpening(agent), assertion }),
      );
      await untilWaiting(connection, 2);
      await connection.sql('commit');
      // With two different orders, Postgres would abort one of the transactions as a deadlock.
      const kinds = (await Promise.all(opened)).map((verdict) => verdict.kind);
      expect(kinds.toSorted()).to.deep.equal(['opened', 'replayed']);
      const deadlocks = 'select deadlocks::integer from pg_stat_database where datname = current_database()';
      expect(await connection.sql(deadlocks)).to.deep.equal([{ deadlocks: 0 }]);
    });

    it('commit in order: a change of the agent commits after the refresh that it waits for', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const opening = await openedTask(storage(), {}, agent);
      await connection.sql('begin');
      await connection.sql(`select 1 from task_grants where grant_hash = '${opening.grantHash}' for update`);
      const renewing = storage().decide(renewGrant, aRenewal(opening));
      await untilBlocked(connection, 1);
      const changing = change(agent);
      // The order of the answers would prove nothing: they arrive on two connections.
      const waits = untilBlocked(connection, 2).then(() => 'waits');
      expect(await Promise.race([changing, waits])).to.equal('waits');
      await connection.sql('commit');
      expect([(await renewing).kind, await changing]).to.deep.equal(['renewed', 'replaced']);
    });
  }
});
