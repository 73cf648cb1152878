/**
 * Two concurrent decisions that share a lock: the second waits for the first, and sees all its writes. Each class of
 * locks has a case in both orders. test/application/decisions has the locks of each decision.
 */

import { expect } from 'chai';
import { ulid } from 'ulid';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { changeAgent } from '../../application/decisions/write-agent.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { lockAppends, untilBlocked, untilWaiting } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aRenewal,
  aRevocation,
  openedTask,
  recordedBy,
  registeredAgent,
  withClientAssertion,
} from './storage-fixtures.ts';

interface Overlap {
  first(): Promise<unknown>;
  second(): Promise<unknown>;
  readonly verdicts: readonly [unknown, unknown];
  /** The event and reason of each record, in order. */
  readonly records: readonly (readonly [event: string, reason?: string])[];
}

const KILL = { at: NOON, reason: 'operator_kill_switch' } as const;
const revoked = (reason: string) => ['task.revoked', reason] as const;
const BLOCKED = ['sponsor.blocked', 'sponsor_blocked'] as const;

/** Blocks the person. Returns the number of ended tasks. */
const block =
  ({ sponsors }: Storage, sponsorKey: SponsorKey) =>
  async () => {
    const stated = { sponsorKey, source: 'admin', kind: 'deleted', blockedAt: NOON } as const;
    return (await sponsors.block(stated, 'sponsor_blocked')).revokedTasks;
  };
const change = (storage: Storage, agent: Agent) => () =>
  storage.decide(changeAgent, { agent: { ...agent, revision: agent.revision + 1 }, entry: anEntry('agent.updated') });

/** Pairs of decisions that share the lock of a person or an agent, or the row of a task or a grant. */
const OVERLAPS: Readonly<Record<string, (storage: Storage) => Promise<Overlap>>> = {
  async 'a block, then an exchange, which is refused'(storage) {
    const opening = anOpening(await registeredAgent(storage));
    return {
      first: block(storage, opening.task.sponsorKey),
      second: () => storage.decide(openTask, opening),
      verdicts: [0, { kind: 'sponsor_blocked', block: 'deleted' }],
      records: [BLOCKED],
    };
  },
  async 'an exchange, then a block, which ends the new task'(storage) {
    const opening = anOpening(await registeredAgent(storage));
    return {
      first: () => storage.decide(openTask, opening),
      second: block(storage, opening.task.sponsorKey),
      verdicts: [{ kind: 'opened' }, 1],
      records: [['token.issued'], BLOCKED, revoked('sponsor_blocked')],
    };
  },
  async 'the end of a task, then a delegated exchange, which is refused'(storage) {
    const { task } = await openedTask(storage);
    const below = anOpening(await registeredAgent(storage), { parentTaskId: task.taskId });
    return {
      first: () => storage.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL),
      second: () => storage.decide(openTask, below),
      verdicts: [{ kind: 'ended', tasks: 1 }, { kind: 'parent_ended' }],
      records: [revoked('operator_kill_switch')],
    };
  },
  async 'a delegated exchange by another agent for another person, then the end of its parent, which ends both'(
    storage,
  ) {
    const { task } = await openedTask(storage);
    const below = anOpening(await registeredAgent(storage), { parentTaskId: task.taskId });
    return {
      first: () => storage.decide(openTask, below),
      second: () => storage.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL),
      verdicts: [{ kind: 'opened' }, { kind: 'ended', tasks: 2 }],
      records: [['token.issued'], revoked('operator_kill_switch'), revoked('parent_revoked')],
    };
  },
  async 'a change of the agent, then an exchange, which gets agent_changed'(storage) {
    const agent = await registeredAgent(storage);
    return {
      first: change(storage, agent),
      second: () => storage.decide(openTask, anOpening(agent)),
      verdicts: ['replaced', { kind: 'agent_changed' }],
      records: [['agent.updated']],
    };
  },
  async 'an exchange, then a change of the agent'(storage) {
    const agent = await registeredAgent(storage);
    return {
      first: () => storage.decide(openTask, anOpening(agent)),
      second: change(storage, agent),
      verdicts: [{ kind: 'opened' }, 'replaced'],
      records: [['token.issued'], ['agent.updated']],
    };
  },
  async 'a revocation by grant, then a refresh, which finds the grant changed'(storage) {
    const opening = await openedTask(storage);
    return {
      first: () => storage.decide(revokeGrant, aRevocation(opening)),
      second: () => storage.decide(renewGrant, aRenewal(opening)),
      verdicts: ['revoked', { kind: 'grant_changed' }],
      records: [revoked('client_revoked')],
    };
  },
};

onEveryDatabase('two concurrent decisions', ({ storage, database, outside, kind }) => {
  for (const [title, prepare] of Object.entries(OVERLAPS)) {
    it(`wait for each other: ${title}`, async () => {
      const { first, second, verdicts, records } = await prepare(storage());
      const connection = await outside();
      const written = await recordedBy(storage(), async () => {
        const lock = await lockAppends(kind, connection);
        const one = first();
        await lock.untilWaiting(1);
        const other = second();
        await lock.untilBlocked(2);
        await lock.release();
        expect(await Promise.all([one, other])).to.deep.equal(verdicts);
      });
      const said = written.map(({ event, reason }) => (reason === undefined ? [event] : [event, reason]));
      expect(said).to.deep.equal(records);
    });
  }

  it('of one batch each get their own verdict and record, whatever the others get', async () => {
    const agent = await registeredAgent(storage());
    const stale = await registeredAgent(storage());
    await change(storage(), stale)();
    const [blocked, replayed, twice] = [anOpening(agent), await openedTask(storage(), {}, agent), anOpening(agent)];
    await block(storage(), blocked.task.sponsorKey)();
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

  it('never leave a live task of a blocked person', async () => {
    const agent = await registeredAgent(storage());
    for (let round = 0; round < 50; round++) {
      const opening = anOpening(agent);
      const decide = [() => storage().decide(openTask, opening), block(storage(), opening.task.sponsorKey)];
      if (round % 2 === 1) decide.reverse();
      await Promise.all(decide.map((decision) => decision()));
      const grant = await storage().tasks.findGrant(agent.agentId, opening.grantHash);
      expect(grant?.taskState.kind).to.be.oneOf([undefined, 'revoked']);
    }
  });

  it('never undo a narrower scope by a refresh that read the wider scope', async () => {
    for (let round = 0; round < 40; round++) {
      const opening = await openedTask(storage());
      const order = [aRenewal(opening, { scope: ['jira:read'] }), aRenewal(opening)];
      if (round % 2 === 1) order.reverse();
      await Promise.all(order.map((renewal) => storage().decide(renewGrant, renewal)));
      const grant = await storage().tasks.findGrant(opening.task.agentId, opening.grantHash);
      expect(grant?.scope).to.deep.equal(['jira:read']);
    }
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

  it('open one task if two processes receive the same assertion', async () => {
    const agent = await registeredAgent(storage());
    const other = await database().open();
    for (let round = 0; round < 20; round++) {
      const assertion = anAssertion(agent.agentId);
      const opened = [storage(), other].map(({ decide }) => decide(openTask, { ...anOpening(agent), assertion }));
      const kinds = (await Promise.all(opened)).map((verdict) => verdict.kind);
      expect(kinds.toSorted()).to.deep.equal(['opened', 'replayed']);
    }
    await other.close();
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
      const changing = change(storage(), agent)();
      // The order of the answers would prove nothing: they arrive on two connections.
      const waits = untilBlocked(connection, 2).then(() => 'waits');
      expect(await Promise.race([changing, waits])).to.equal('waits');
      await connection.sql('commit');
      expect([(await renewing).kind, await changing]).to.deep.equal(['renewed', 'replaced']);
    });
  }
});
