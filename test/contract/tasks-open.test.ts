import { expect } from 'chai';
import { ulid } from 'ulid';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { SpentAssertion } from '../../application/decisions/assertion.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { makeTaskId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { BlockKind } from '../../domain/sponsors/block.ts';
import { databases } from '../support/databases.ts';
import { anAgent, NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends, untilWaiting } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aRefusal,
  asEntry,
  ledgerOf,
  newAgentId,
  openedTask,
  recordedBy,
  registeredAgent,
  said,
  together,
} from './scene.ts';

/** Before everything else in this database is over. */
const LATER = instantFromMicros(NOON + 60_000_001);
const KILL = { at: instantFromMicros(NOON + 5), reason: 'operator_kill_switch' } as const;
type Chain = TaskOpening & { readonly root: TaskId };

onEveryDatabase('opening a task', ({ storage }) => {
  const tasks = () => storage().tasks;
  const block = (sponsorKey: SponsorKey, kind: BlockKind = 'disabled') =>
    storage().sponsors.block({ sponsorKey, source: 'scim', kind, blockedAt: NOON }, 'scim_deactivated');

  it('stores every field of the task, live, with its grant', async () => {
    const parent = await openedTask(storage());
    for (const changes of [{}, { sessionId: undefined, parentTaskId: parent.task.taskId }]) {
      const { task, grantHash } = await openedTask(storage(), changes);
      expect(await tasks().findGrant(task.agentId, grantHash)).to.deep.equal({
        task,
        taskState: { kind: 'live' },
        revokedAt: undefined,
        scope: task.scope,
        renewals: 0,
      });
    }
  });

  it('records exactly the entry it is given', async () => {
    const opening = anOpening(await registeredAgent(storage()));
    const records = await recordedBy(storage(), () => tasks().open(opening));
    expect(records.map(asEntry)).to.deep.equal([said(opening.entry)]);
  });

  it('gives a grant to no other agent than its own', async () => {
    const { task, grantHash } = await openedTask(storage());
    const other = await registeredAgent(storage());
    expect(await tasks().findGrant(other.agentId, grantHash)).to.equal(undefined);
    expect(await tasks().findGrant(task.agentId, 'f'.repeat(64))).to.equal(undefined);
  });

  it('opens nothing for an agent that is at another revision than was judged, or gone', async () => {
    const agent = await registeredAgent(storage());
    const records = await recordedBy(storage(), async () => {
      for (const judged of [
        { ...agent, revision: 2 },
        { ...agent, revision: 0 },
        anAgent({ agentId: newAgentId(), revision: 1 }),
      ]) {
        const opening = anOpening(judged);
        expect(await tasks().open(opening)).to.deep.equal({ kind: 'agent_changed' });
        expect(await tasks().findGrant(judged.agentId, opening.grantHash)).to.equal(undefined);
      }
    });
    expect(records).to.deep.equal([]);
  });

  it('spends an assertion once per agent', async () => {
    const agent = await registeredAgent(storage());
    const other = await registeredAgent(storage());
    const first = anOpening(agent);
    await tasks().open(first);
    const again = { ...anOpening(agent), assertion: first.assertion };
    const records = await recordedBy(storage(), async () => {
      expect(await tasks().open(again)).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    expect(await tasks().findGrant(agent.agentId, again.grantHash)).to.equal(undefined);
    const sameJti = { ...anOpening(other), assertion: anAssertion(other.agentId, first.assertion.jti) };
    expect(await tasks().open(sameJti)).to.deep.equal({ kind: 'opened' });
  });

  it('opens exactly one task when one assertion is presented a hundred times at once', async () => {
    const agent = await registeredAgent(storage());
    const assertion = anAssertion(agent.agentId);
    const openings = Array.from({ length: 100 }, () => ({ ...anOpening(agent), assertion }));
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(openings.map((opening) => tasks().open(opening)));
      expect(outcomes.filter(({ kind }) => kind === 'opened')).to.have.length(1);
      expect(outcomes.filter(({ kind }) => kind === 'replayed')).to.have.length(99);
    });
    const grants = await Promise.all(openings.map(({ grantHash }) => tasks().findGrant(agent.agentId, grantHash)));
    const stored = grants.filter((grant) => grant !== undefined);
    expect(stored).to.have.length(1);
    expect(records.map((record) => record.taskId)).to.deep.equal([stored[0]?.task.taskId]);
  });

  it('spends both assertions of a request, or none where one was spent before', async () => {
    const agent = await registeredAgent(storage());
    const open = async (assertion: SpentAssertion) => (await tasks().open({ ...anOpening(agent), assertion })).kind;
    const spend = async (assertion: SpentAssertion) => (await tasks().spend(assertion)).kind;
    const [first, second] = [anAssertion(agent.agentId), anAssertion(agent.agentId)];
    expect(await open(together(first, second))).to.equal('opened');
    expect([await spend(first), await spend(second)]).to.deep.equal(['replayed', 'replayed']);
    for (const spent of [first, second]) {
      const records = await recordedBy(storage(), async () => {
        // In both orders of their names: one of the two comes before the other in the transaction.
        for (const jti of ['0', '~'].map((start) => `${start}-${ulid()}`)) {
          const fresh = anAssertion(agent.agentId, jti);
          expect(await open(together(spent, fresh))).to.equal('replayed');
          expect(await open(together(fresh, spent))).to.equal('replayed');
          expect(await spend(fresh)).to.equal('spent');
        }
      });
      expect(records).to.deep.equal([]);
    }
  });

  it('spends neither assertion of a request whose person is on the list, whose agent changed or whose parent ended', async () => {
    const agent = await registeredAgent(storage());
    const parent = await openedTask(storage());
    await tasks().end({ kind: 'task', taskId: parent.task.taskId }, KILL);
    const blocked = anOpening(agent);
    await block(blocked.task.sponsorKey);
    const spend = async (assertion: SpentAssertion) => (await tasks().spend(assertion)).kind;
    for (const [opening, kind] of [
      [blocked, 'sponsor_blocked'],
      [anOpening({ ...agent, revision: agent.revision + 1 }), 'agent_changed'],
      [anOpening(agent, { parentTaskId: parent.task.taskId }), 'parent_ended'],
    ] as const) {
      const other = anAssertion(agent.agentId);
      const outcome = await tasks().open({ ...opening, assertion: together(opening.assertion, other) });
      expect(outcome.kind).to.equal(kind);
      expect([await spend(opening.assertion), await spend(other)], kind).to.deep.equal(['spent', 'spent']);
    }
  });

  it('opens exactly one task when two assertions are presented as either of the two at once', async () => {
    const agent = await registeredAgent(storage());
    for (let round = 0; round < rounds(5); round++) {
      const [one, other] = [anAssertion(agent.agentId), anAssertion(agent.agentId)];
      const openings = Array.from({ length: 20 }, (_, nth) => ({
        ...anOpening(agent),
        assertion: nth % 2 === 0 ? together(one, other) : together(other, one),
      }));
      const outcomes = await Promise.all(openings.map((opening) => tasks().open(opening)));
      const kinds = outcomes.map(({ kind }) => kind).toSorted();
      expect(kinds).to.deep.equal(['opened', ...Array.from({ length: 19 }, () => 'replayed')]);
    }
  });

  it('opens nothing for a person on the list, and says which kind of block it is', async () => {
    for (const kind of ['disabled', 'deleted'] as const) {
      const opening = anOpening(await registeredAgent(storage()));
      await block(opening.task.sponsorKey, kind);
      const records = await recordedBy(storage(), async () => {
        expect(await tasks().open(opening)).to.deep.equal({ kind: 'sponsor_blocked', block: kind });
      });
      expect(records).to.deep.equal([]);
      expect(await tasks().findGrant(opening.task.agentId, opening.grantHash)).to.equal(undefined);
    }
  });

  it('does not spend the assertion of somebody who is blocked: the refusal that follows does', async () => {
    const opening = anOpening(await registeredAgent(storage()));
    const { sponsorKey } = opening.task;
    await block(sponsorKey, 'deleted');
    await tasks().open(opening);
    const refusal = { entry: aRefusal('sponsor_not_found'), assertion: opening.assertion, sponsorKey };
    expect(await storage().ledger.refuse(refusal)).to.equal('sponsor_not_found');
    expect(await storage().ledger.refuse(refusal)).to.equal('actor_replayed');
  });

  it('reports a changed agent before a replay, and a replay before a block', async () => {
    const agent = await registeredAgent(storage());
    const first = anOpening(agent);
    await tasks().open(first);
    await block(first.task.sponsorKey);
    expect(await tasks().open({ ...first, agentRevision: 7 })).to.deep.equal({ kind: 'agent_changed' });
    expect(await tasks().open(first)).to.deep.equal({ kind: 'replayed' });
    expect(await tasks().open({ ...first, assertion: anAssertion(agent.agentId) })).to.deep.equal({
      kind: 'sponsor_blocked',
      block: 'disabled',
    });
  });

  for (const [which, end] of [
    ['was revoked', ({ task }: TaskOpening) => tasks().end({ kind: 'task', taskId: task.taskId }, KILL)],
    ['was revoked with its own parent', ({ root }: Chain) => tasks().end({ kind: 'task', taskId: root }, KILL)],
    ['has expired', ({ task }: TaskOpening) => storage().sweeping.expire({ overBy: task.expiresAt, at: NOON }, 1000)],
    ['is over, swept or not', async () => undefined],
    ['was never stored', async () => undefined],
  ] as const) {
    it(`opens nothing below a task that ${which}, and does not spend the assertion`, async () => {
      const root = await openedTask(storage());
      const parent = await openedTask(storage(), { parentTaskId: root.task.taskId, expiresAt: LATER });
      await end({ ...parent, root: root.task.taskId });
      const never = makeTaskId('01M31S7W68TMK7WDX8YKPSYTES');
      const opening = anOpening(await registeredAgent(storage()), {
        parentTaskId: which === 'was never stored' ? never : parent.task.taskId,
        createdAt: which === 'is over, swept or not' ? LATER : instantFromMicros(LATER - 1),
      });
      const records = await recordedBy(storage(), async () => {
        expect(await tasks().open(opening)).to.deep.equal({ kind: 'parent_ended' });
      });
      expect(records).to.deep.equal([]);
      expect(await tasks().findGrant(opening.task.agentId, opening.grantHash)).to.equal(undefined);
      const refusal = { entry: aRefusal('task_revoked'), assertion: opening.assertion };
      expect(await storage().ledger.refuse(refusal)).to.equal('task_revoked');
      expect(await tasks().open(opening)).to.deep.equal({ kind: 'replayed' });
    });
  }

  it('stores no text that would be stored as another', async () => {
    const agent = await registeredAgent(storage());
    for (const text of ['\u0000', '\udc00']) {
      for (const opening of [
        anOpening(agent, { sponsor: text }),
        anOpening(agent, { sessionId: text }),
        anOpening(agent, { audience: text }),
        { ...anOpening(agent), assertion: anAssertion(agent.agentId, text) },
        { ...anOpening(agent), entry: anEntry('token.issued', { audience: text }) },
      ]) {
        const before = await ledgerOf(storage());
        const thrown = await tasks()
          .open(opening)
          .catch((error: unknown) => error);
        expect(thrown).to.be.instanceOf(RangeError);
        expect(await ledgerOf(storage())).to.deep.equal(before);
        expect(await tasks().findGrant(agent.agentId, opening.grantHash)).to.equal(undefined);
      }
    }
  });

  it('never leaves a blocked person with a live task when both are decided at once', async () => {
    const agent = await registeredAgent(storage());
    for (let round = 0; round < 50; round++) {
      const opening = anOpening(agent);
      const decide = [() => tasks().open(opening), () => block(opening.task.sponsorKey)];
      if (round % 2 === 1) decide.reverse();
      await Promise.all(decide.map((decision) => decision()));
      const grant = await tasks().findGrant(agent.agentId, opening.grantHash);
      expect(grant?.taskState.kind).to.be.oneOf([undefined, 'revoked']);
    }
  });
});

onEveryDatabase(
  'opening a task, seen from outside,',
  ({ storage, database, kind }) => {
    const outside = async () => {
      const reach = database().outside;
      if (reach === undefined) throw new Error('this database cannot be reached from outside');
      return reach();
    };

    for (const table of ['spent_assertions', 'tasks', 'task_grants', 'ledger']) {
      it(`leaves nothing behind when writing to ${table} fails`, async () => {
        const connection = await outside();
        const opening = anOpening(await registeredAgent(storage()));
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, { table }, () =>
          storage()
            .tasks.open(opening)
            .catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await storage().tasks.open(opening)).to.deep.equal({ kind: 'opened' });
        await connection.close();
      });
    }

    if (kind.engine === 'postgres') {
      it('spends two assertions in one order, however they were sent: nothing waits in a circle', async () => {
        const connection = await outside();
        const agent = await registeredAgent(storage());
        const [lesser, greater] = [`0-${ulid()}`, `~-${ulid()}`].map((jti) => anAssertion(agent.agentId, jti)) as [
          SpentAssertion,
          SpentAssertion,
        ];
        await connection.sql('begin');
        const key = `${agent.agentId} ${lesser.jti}`;
        await connection.sql(`select pg_advisory_xact_lock(${LOCK.assertion}, hashtext('${key}'))`);
        const opened = [together(lesser, greater), together(greater, lesser)].map((assertion) =>
          storage().tasks.open({ ...anOpening(agent), assertion }),
        );
        await untilWaiting(connection, 2);
        await connection.sql('commit');
        // If each had locked another one first, Postgres would have ended one of them as a deadlock.
        const kinds = (await Promise.all(opened)).map(({ kind: verdict }) => verdict);
        expect(kinds.toSorted()).to.deep.equal(['opened', 'replayed']);
        const [row] = await connection.sql(
          'select deadlocks::integer from pg_stat_database where datname = current_database()',
        );
        expect(row).to.deep.equal({ deadlocks: 0 });
        await connection.close();
      });
    }

    it('waits for a block that is under way, and is refused', async () => {
      const connection = await outside();
      const opening = anOpening(await registeredAgent(storage()));
      const { sponsorKey } = opening.task;
      const hold = await holdAppends(kind, connection);
      const blocking = storage().sponsors.block(
        { sponsorKey, source: 'ssf', kind: 'deleted', blockedAt: NOON },
        'ssf_account_purged',
      );
      await hold.waiting(1);
      const opened = storage().tasks.open(opening);
      await hold.waiting(2);
      await hold.release();
      expect((await blocking).revokedTasks).to.equal(0);
      expect(await opened).to.deep.equal({ kind: 'sponsor_blocked', block: 'deleted' });
      await connection.close();
    });

    it('is ended by a block when it commits first', async () => {
      const connection = await outside();
      const opening = anOpening(await registeredAgent(storage()));
      const { sponsorKey, agentId } = opening.task;
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const blocking = storage().sponsors.block(
        { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON },
        'sponsor_blocked',
      );
      await hold.waiting(2);
      await hold.release();
      expect(await opened).to.deep.equal({ kind: 'opened' });
      expect((await blocking).revokedTasks).to.equal(1);
      const grant = await storage().tasks.findGrant(agentId, opening.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: NOON, reason: 'sponsor_blocked' });
      await connection.close();
    });

    it('below a task that is being ended waits for that, and opens nothing', async () => {
      const connection = await outside();
      const parent = await openedTask(storage());
      const opening = anOpening(await registeredAgent(storage()), { parentTaskId: parent.task.taskId });
      const hold = await holdAppends(kind, connection);
      const ended = storage().tasks.end({ kind: 'agent', agentId: parent.task.agentId }, KILL);
      await hold.waiting(1);
      const opened = storage().tasks.open(opening);
      await hold.blocked(2);
      await hold.release();
      expect(await ended).to.deep.equal({ kind: 'ended', tasks: 1 });
      expect(await opened).to.deep.equal({ kind: 'parent_ended' });
      await connection.close();
    });

    it('below a task is waited for by what ends that, by whomever and for whomever it is, and is ended by it', async () => {
      const connection = await outside();
      const parent = await openedTask(storage());
      const opening = anOpening(await registeredAgent(storage()), { parentTaskId: parent.task.taskId });
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const ended = storage().tasks.end({ kind: 'agent', agentId: parent.task.agentId }, KILL);
      await hold.blocked(2);
      const records = await recordedBy(storage(), async () => {
        await hold.release();
        expect(await opened).to.deep.equal({ kind: 'opened' });
        expect(await ended).to.deep.equal({ kind: 'ended', tasks: 2 });
      });
      expect(records.map(({ event, taskId, reason }) => [event, taskId, reason])).to.deep.equal([
        ['token.issued', opening.task.taskId, undefined],
        ['task.revoked', parent.task.taskId, 'operator_kill_switch'],
        ['task.revoked', opening.task.taskId, 'parent_revoked'],
      ]);
      await connection.close();
    });

    it('waits for a change of its agent that is under way, and is judged again', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const hold = await holdAppends(kind, connection);
      const replaced = storage().agents.replace(
        { ...agent, enabled: false, revision: 2 },
        anEntry('agent.updated', { agentId: agent.agentId }),
      );
      await hold.waiting(1);
      const opened = storage().tasks.open(anOpening(agent));
      await hold.waiting(2);
      await hold.release();
      expect(await replaced).to.equal('replaced');
      expect(await opened).to.deep.equal({ kind: 'agent_changed' });
      await connection.close();
    });

    it('commits before a change of its agent that came later, which waits for it', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const opening = anOpening(agent);
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const updated = anEntry('agent.updated', { agentId: agent.agentId });
      const replaced = storage().agents.replace({ ...agent, enabled: false, revision: 2 }, updated);
      await hold.waiting(2);
      await hold.release();
      expect(await opened).to.deep.equal({ kind: 'opened' });
      expect(await replaced).to.equal('replaced');
      const events = (await ledgerOf(storage())).filter((record) => record.agentId === agent.agentId);
      expect(events.map((record) => record.event)).to.deep.equal(['token.issued', 'agent.updated']);
      await connection.close();
    });

    it('keeps its agent from being removed, which waits for it', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(anOpening(agent));
      await hold.waiting(1);
      const removed = storage().agents.remove(
        agent.agentId,
        anEntry('agent.deleted'),
        aRefusal('agent_has_tasks', { event: 'agent.deleted' }),
      );
      await hold.waiting(2);
      await hold.release();
      expect(await opened).to.deep.equal({ kind: 'opened' });
      expect(await removed).to.equal('has_tasks');
      await connection.close();
    });

    it('refuses a replay after everything was closed and opened again', async () => {
      const opening = anOpening(await registeredAgent(storage()));
      const first = await database().open();
      await first.tasks.open(opening);
      await first.close();
      const second = await database().open();
      const again = {
        ...anOpening(anAgent({ agentId: opening.task.agentId, revision: 1 })),
        assertion: opening.assertion,
      };
      expect(await second.tasks.open(again)).to.deep.equal({ kind: 'replayed' });
      const grant = await second.tasks.findGrant(opening.task.agentId, opening.grantHash);
      expect(grant?.task).to.deep.equal(opening.task);
      await second.close();
    });

    it('opens exactly one task when two processes are given the same assertion at once', async () => {
      const agent = await registeredAgent(storage());
      const other = await database().open();
      for (let round = 0; round < 20; round++) {
        const assertion = anAssertion(agent.agentId);
        const outcomes = await Promise.all(
          [storage(), other].map((process) => process.tasks.open({ ...anOpening(agent), assertion })),
        );
        expect(outcomes.map(({ kind }) => kind).toSorted()).to.deep.equal(['opened', 'replayed']);
      }
      await other.close();
    });
  },
  databases,
);
