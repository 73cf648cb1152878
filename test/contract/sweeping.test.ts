import { expect } from 'chai';
import { ulid } from 'ulid';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { makeTokenId, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { formatScope } from '../../domain/scope.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { databases, type Outside } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aRefusal,
  aRenewal,
  asEntry,
  ledgerOf,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './scene.ts';

/** Each test's tasks are due at a time of their own, before those of the tests that follow and all other tasks. */
let nth = 0;
const nextDue = (): Instant => plusSeconds(NOON, 10 * ++nth);

/** As a clock does that nobody's is behind. */
const asOf = (at: Instant) => ({ overBy: at, at });

/** What the ledger says of a task that expired. */
function expired({ task }: TaskOpening, at: Instant, unrecorded = 0) {
  const about = {
    at,
    taskId: task.taskId,
    agentId: task.agentId,
    sponsor: task.sponsor,
    audience: task.audience,
    scope: formatScope(task.scope),
    delegationDepth: task.delegationDepth,
    decision: 'allow',
  };
  const summary = { ...about, event: 'token.refreshed', count: unrecorded };
  return [...(unrecorded > 0 ? [summary] : []), { ...about, event: 'task.expired', reason: 'task_ttl_elapsed' }];
}

onEveryDatabase('the expiry of tasks', ({ storage }) => {
  const expire = (now: Instant, limit = 1000) => storage().sweeping.expire(asOf(now), limit);
  const grantOf = ({ task, grantHash }: TaskOpening) => storage().tasks.findGrant(task.agentId, grantHash);

  it('is recorded once per task, with its grant revoked and its renewals summed up just before', async () => {
    const due = nextDue();
    const opening = await openedTask(storage(), { expiresAt: due, delegationDepth: 2 });
    await renewTimes(storage(), opening, 5);
    const swept = plusSeconds(due, 7);
    const records = await recordedBy(storage(), async () => {
      expect(await expire(swept)).to.equal(1);
      expect(await expire(swept)).to.equal(0);
    });
    expect(records.map(asEntry)).to.deep.equal(expired(opening, swept, 4));
    expect(await grantOf(opening)).to.deep.include({ taskState: { kind: 'expired', at: due }, revokedAt: swept });
  });

  for (const [renewals, events] of [
    [0, ['task.expired']],
    [1, ['task.expired']],
    [2, ['token.refreshed', 'task.expired']],
  ] as const) {
    it(`has ${events.length === 2 ? 'a' : 'no'} summary of ${renewals} renewals`, async () => {
      const due = nextDue();
      const opening = await openedTask(storage(), { expiresAt: due });
      await renewTimes(storage(), opening, renewals);
      const records = await recordedBy(storage(), () => expire(due));
      expect(records.map((record) => record.event)).to.deep.equal(events);
      expect(records[0]?.count).to.equal(renewals === 2 ? 1 : undefined);
    });
  }

  it('comes when the time is up, to the microsecond, and not before', async () => {
    const due = nextDue();
    const opening = await openedTask(storage(), { expiresAt: due });
    expect(await expire(instantFromMicros(due - 1))).to.equal(0);
    expect((await grantOf(opening))?.taskState).to.deep.equal({ kind: 'live' });
    expect(await expire(due)).to.equal(1);
  });

  it('is dated when it is recorded, however long the task must have been over for', async () => {
    const due = nextDue();
    const opening = await openedTask(storage(), { expiresAt: due });
    const at = plusSeconds(due, 8);
    const sweep = (overBy: Instant) => storage().sweeping.expire({ overBy, at }, 1000);
    const records = await recordedBy(storage(), async () => {
      expect(await sweep(instantFromMicros(due - 1))).to.equal(0);
      expect(await sweep(due)).to.equal(1);
    });
    expect(records.map(asEntry)).to.deep.equal(expired(opening, at));
    expect(await grantOf(opening)).to.deep.include({ taskState: { kind: 'expired', at: due }, revokedAt: at });
  });

  it('takes so many at a time, those longest over first, and leaves none', async () => {
    const due = nextDue();
    const agent = await registeredAgent(storage());
    const openings: TaskOpening[] = [];
    for (const after of [3, 1, 4, 0, 2]) {
      openings.push(await openedTask(storage(), { expiresAt: instantFromMicros(due + after) }, agent));
    }
    const swept = plusSeconds(due, 1);
    expect([await expire(swept, 2), await expire(swept, 2)]).to.deep.equal([2, 2]);
    const states = await Promise.all(openings.map(async (opening) => (await grantOf(opening))?.taskState.kind));
    expect(states).to.deep.equal(['expired', 'expired', 'live', 'expired', 'expired']);
    expect([await expire(swept, 2), await expire(swept, 2)]).to.deep.equal([1, 0]);
  });

  it('passes over what was revoked, which stays so; and what expired is not revoked any more', async () => {
    const due = nextDue();
    const revocation = { at: NOON, reason: 'operator_kill_switch' } as const;
    const revoked = await openedTask(storage(), { expiresAt: due });
    const end = ({ task }: TaskOpening) => storage().tasks.end({ kind: 'task', taskId: task.taskId }, revocation);
    await end(revoked);
    const over = await openedTask(storage(), { expiresAt: due });
    expect(await expire(due)).to.equal(1);
    expect((await grantOf(revoked))?.taskState).to.deep.equal({ kind: 'revoked', ...revocation });
    // By a clock that is behind.
    expect(await end(over)).to.deep.equal({ kind: 'ended', tasks: 0 });
    expect((await grantOf(over))?.taskState).to.deep.equal({ kind: 'expired', at: due });
  });

  it('lets nothing renew the task, by whatever clock', async () => {
    const due = nextDue();
    const opening = await openedTask(storage(), { expiresAt: due });
    await expire(due);
    expect(await storage().tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'grant_changed' });
  });

  it('is for each task by itself: a parent’s time is not that of what was delegated from it', async () => {
    const due = nextDue();
    const parent = await openedTask(storage(), { expiresAt: due });
    const child = await openedTask(storage(), { parentTaskId: parent.task.taskId });
    expect(await expire(due)).to.equal(1);
    expect((await grantOf(child))?.taskState).to.deep.equal({ kind: 'live' });
    await storage().tasks.end({ kind: 'task', taskId: child.task.taskId }, { at: due, reason: 'parent_revoked' });
  });
});

onEveryDatabase('what is not kept any longer', ({ storage }) => {
  const LONG_AFTER = plusSeconds(NOON, 1_000_000);
  const deleteEnded = (endedBy = LONG_AFTER, limit = 1000) => storage().sweeping.deleteEnded(endedBy, limit);
  const isStored = async ({ task }: TaskOpening) =>
    (await storage().tasks.tokenFacts(makeTokenId(ulid()), task.taskId)) !== undefined;
  const revoke = (taskId: TaskId, at: Instant) =>
    storage().tasks.end({ kind: 'task', taskId }, { at, reason: 'operator_kill_switch' });
  const revokedTask = async (at: Instant, changes: Partial<Task> = {}) => {
    const opening = await openedTask(storage(), changes);
    await revoke(opening.task.taskId, at);
    return opening;
  };

  it('is a task that ended, with its grants, and no other; the ledger keeps what it says', async () => {
    const at = nextDue();
    const early = await revokedTask(at);
    const late = await revokedTask(instantFromMicros(at + 1));
    const over = await openedTask(storage(), { expiresAt: at });
    await storage().sweeping.expire(asOf(at), 1000);
    const live = await openedTask(storage());
    const before = await ledgerOf(storage());
    expect(await deleteEnded(at)).to.equal(2);
    expect(await Promise.all([early, late, over, live].map(isStored))).to.deep.equal([false, true, false, true]);
    for (const { task, grantHash } of [early, over]) {
      expect(await storage().tasks.findGrant(task.agentId, grantHash)).to.equal(undefined);
    }
    expect(await ledgerOf(storage())).to.deep.equal(before);
    expect(await deleteEnded()).to.equal(1);
  });

  it('is a revoked task by when it ended, whatever its expiry was', async () => {
    const ended = nextDue();
    const late = await revokedTask(ended, { expiresAt: plusSeconds(LONG_AFTER, 1) });
    const early = await revokedTask(ended, { expiresAt: plusSeconds(ended, 1) });
    expect(await deleteEnded(instantFromMicros(ended - 1))).to.equal(0);
    expect(await deleteEnded(ended)).to.equal(2);
    expect(await Promise.all([late, early].map(isStored))).to.deep.equal([false, false]);
  });

  it('is not a task that something stored was delegated from; the last of a chain goes first', async () => {
    const at = nextDue();
    const root = await openedTask(storage());
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId });
    await revoke(root.task.taskId, at);
    expect(await deleteEnded()).to.equal(1);
    expect(await Promise.all([root, child, grandchild].map(isStored))).to.deep.equal([true, true, false]);
    expect([await deleteEnded(), await deleteEnded(), await deleteEnded()]).to.deep.equal([1, 1, 0]);
  });

  it('goes so many at a time, those that ended longest ago first', async () => {
    const at = nextDue();
    const openings: TaskOpening[] = [];
    for (const after of [2, 0, 1]) openings.push(await revokedTask(instantFromMicros(at + after)));
    expect(await deleteEnded(LONG_AFTER, 2)).to.equal(2);
    expect(await Promise.all(openings.map(isStored))).to.deep.equal([true, false, false]);
    expect(await deleteEnded(LONG_AFTER, 2)).to.equal(1);
  });

  it('makes way for the removal of its agent', async () => {
    const agent = await registeredAgent(storage());
    const { task } = await openedTask(storage(), {}, agent);
    const remove = () => storage().agents.remove(agent.agentId, anEntry('agent.deleted'), aRefusal('agent_has_tasks'));
    await revoke(task.taskId, nextDue());
    expect(await remove()).to.equal('has_tasks');
    await deleteEnded();
    expect(await remove()).to.equal('removed');
  });

  it('is a used assertion once it could not be accepted any more, and not before', async () => {
    const opening = await openedTask(storage());
    const { agentId } = opening.task;
    const until = nextDue();
    const spend = (assertion: ReturnType<typeof anAssertion>) =>
      storage().ledger.refuse({ entry: aRefusal('scope_widened', { agentId }), assertion });
    const [first, second] = [0, 1].map((after) => ({
      ...anAssertion(agentId),
      forgetAt: instantFromMicros(until + after),
    })) as [ReturnType<typeof anAssertion>, ReturnType<typeof anAssertion>];
    for (const assertion of [first, second]) await spend(assertion);
    await storage().sweeping.forget(until, 1000);
    expect([await spend(first), await spend(second)]).to.deep.equal(['scope_widened', 'actor_replayed']);
  });

  it('is a revoked token once nobody would take it any more, and not before', async () => {
    const { task } = await openedTask(storage());
    const until = nextDue();
    const tokens = [0, 1].map((after) => ({
      tokenId: makeTokenId(ulid()),
      taskId: task.taskId,
      forgetAt: instantFromMicros(until + after),
    }));
    const revocation = { at: NOON, reason: 'client_revoked' } as const;
    for (const token of tokens) {
      await storage().tasks.revokeToken(token, revocation, anAssertion(task.agentId), anEntry('token.revoked'));
    }
    await storage().sweeping.forget(until, 1000);
    const revocations = await Promise.all(
      tokens.map(async ({ tokenId }) => (await storage().tasks.tokenFacts(tokenId, task.taskId))?.tokenRevocation),
    );
    expect(revocations).to.deep.equal([undefined, revocation]);
  });

  it('is an accepted signal once it could not be accepted any more, and not before', async () => {
    const until = nextDue();
    const signal = (after: number) => ({
      issuer: 'https://idp.example',
      jti: `logout-${until + after}`,
      forgetAt: instantFromMicros(until + after),
      at: NOON,
      loggedOut: { kind: 'person', subject: `nobody-${until}` } as const,
    });
    for (const after of [0, 1]) await storage().signals.logOut(signal(after));
    await storage().sweeping.forget(until, 1000);
    const again = [await storage().signals.logOut(signal(0)), await storage().signals.logOut(signal(1))];
    expect(again.map(({ kind }) => kind)).to.deep.equal(['accepted', 'repeated']);
  });

  it('is a remembered logout once it refuses no token any more, and not before', async () => {
    const until = nextDue();
    for (const after of [0, 1]) {
      const remember = { statedAt: NOON, forgetAt: instantFromMicros(until + after) };
      const loggedOut = { kind: 'person', subject: `person-${until}-${after}` } as const;
      const occurrence = { issuer: 'https://idp.example', jti: `${until}-${after}`, forgetAt: NOON, at: NOON };
      await storage().signals.logOut({ ...occurrence, loggedOut, remember });
    }
    await storage().sweeping.forget(until, 1000);
    const agent = await registeredAgent(storage());
    const opened = [0, 1].map(async (after) => {
      const opening = anOpening(agent, { sponsor: `person-${until}-${after}` });
      return storage().tasks.open({ ...opening, refuseLoggedOut: { issuedAt: NOON } });
    });
    expect((await Promise.all(opened)).map(({ kind }) => kind)).to.deep.equal(['opened', 'logged_out']);
  });

  it('is forgotten so many at a time, until nothing is left', async () => {
    const until = plusSeconds(NOON, 10_000_000);
    while ((await storage().sweeping.forget(until, 1000)) > 0);
    const { agentId } = (await openedTask(storage())).task;
    for (let used = 0; used < 4; used++) {
      await storage().ledger.refuse({ entry: aRefusal('scope_widened', { agentId }), assertion: anAssertion(agentId) });
    }
    // The opening's own is the fifth.
    const forgotten = [];
    for (let batch = 0; batch < 4; batch++) forgotten.push(await storage().sweeping.forget(until, 2));
    expect(forgotten).to.deep.equal([2, 2, 1, 0]);
  });
});

onEveryDatabase(
  'sweeping, seen from outside,',
  ({ storage, database, kind }) => {
    const reach = async (): Promise<Outside> => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      return connection;
    };

    for (const fault of [
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`expires nothing when writing to ${fault.table} fails`, async () => {
        const connection = await reach();
        const due = nextDue();
        await renewTimes(storage(), await openedTask(storage(), { expiresAt: due }), 3);
        const before = await contentsOf(connection);
        const expire = () => storage().sweeping.expire(asOf(due), 1000);
        const outcome = await whileFailing(kind, connection, fault, () => expire().catch((error: unknown) => error));
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await expire()).to.equal(1);
        await connection.close();
      });
    }

    for (const table of ['tasks', 'task_grants']) {
      it(`deletes nothing when deleting from ${table} fails`, async () => {
        const connection = await reach();
        const due = nextDue();
        await openedTask(storage(), { expiresAt: due });
        await storage().sweeping.expire(asOf(due), 1000);
        const before = await contentsOf(connection);
        const remove = () => storage().sweeping.deleteEnded(due, 1000);
        const outcome = await whileFailing(kind, connection, { table, on: 'delete' }, () =>
          remove().catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await remove()).to.be.greaterThan(0);
        await connection.close();
      });
    }

    it('records each expiry once, however many instances sweep at once', async function () {
      this.timeout(60_000);
      const others = [await database().open(), await database().open()];
      const agent = await registeredAgent(storage());
      for (let round = 0; round < rounds(5); round++) {
        const due = nextDue();
        const openings: TaskOpening[] = [];
        for (let task = 0; task < 25; task++) {
          const opening = await openedTask(storage(), { expiresAt: due }, agent);
          await renewTimes(storage(), opening, task % 3);
          openings.push(opening);
        }
        const records = await recordedBy(storage(), async () => {
          const sweeps = [storage(), ...others, storage()].map(async ({ sweeping }) => {
            let swept = 0;
            const next = () => sweeping.expire(asOf(due), 4);
            for (let batch = await next(); batch > 0; batch = await next()) swept += batch;
            return swept;
          });
          const counts = await Promise.all(sweeps);
          expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(25);
        });
        const ends = records.filter(({ event }) => event === 'task.expired').map(({ taskId }) => taskId);
        expect(ends.toSorted()).to.deep.equal(openings.map(({ task }) => task.taskId as string).toSorted());
        // Two renewals, of which one has no record, for every third task.
        expect(records.filter(({ event }) => event === 'token.refreshed')).to.have.length(8);
      }
      for (const other of others) await other.close();
    });

    it('ends a task either by expiry or by a kill switch, never by both', async function () {
      this.timeout(60_000);
      const other = await database().open();
      const agent = await registeredAgent(storage());
      for (let round = 0; round < rounds(20); round++) {
        const due = nextDue();
        const { task, grantHash } = await openedTask(storage(), { expiresAt: due }, agent);
        const decide = [
          () => storage().sweeping.expire(asOf(due), 20),
          // By a clock that is behind, for which the task is live.
          () =>
            other.tasks.end(
              { kind: 'task', taskId: task.taskId },
              { at: instantFromMicros(due - 1), reason: 'operator_kill_switch' },
            ),
        ];
        if (round % 2 === 1) decide.reverse();
        const records = await recordedBy(storage(), () => Promise.all(decide.map((decision) => decision())));
        expect(records).to.have.length(1);
        const grant = await storage().tasks.findGrant(task.agentId, grantHash);
        expect(`task.${grant?.taskState.kind}`).to.equal(records[0]?.event);
      }
      await other.close();
    });

    if (kind.engine === 'postgres') {
      it('passes over a task that a kill switch is at, and does not wait for it', async () => {
        const connection = await reach();
        const due = nextDue();
        const held = await openedTask(storage(), { expiresAt: due });
        const free = await openedTask(storage(), { expiresAt: due });
        await connection.sql('begin');
        await connection.sql(`select 1 from tasks where task_id = '${held.task.taskId}' for update`);
        expect(await storage().sweeping.expire(asOf(due), 1000)).to.equal(1);
        await connection.sql('rollback');
        const grant = await storage().tasks.findGrant(free.task.agentId, free.grantHash);
        expect(grant?.taskState.kind).to.equal('expired');
        expect(await storage().sweeping.expire(asOf(due), 1000)).to.equal(1);
        await connection.close();
      });

      it('deletes no task that another instance is deleting, and does not wait for it', async () => {
        const connection = await reach();
        const all = plusSeconds(NOON, 1_000_000);
        while ((await storage().sweeping.deleteEnded(all, 1000)) > 0);
        const due = nextDue();
        const [held] = [
          await openedTask(storage(), { expiresAt: due }),
          await openedTask(storage(), { expiresAt: due }),
        ];
        await storage().sweeping.expire(asOf(due), 1000);
        await connection.sql('begin');
        await connection.sql(`delete from task_grants where task_id = '${held.task.taskId}'`);
        await connection.sql(`delete from tasks where task_id = '${held.task.taskId}'`);
        expect(await storage().sweeping.deleteEnded(all, 1000)).to.equal(1);
        await connection.sql('rollback');
        expect(await storage().sweeping.deleteEnded(all, 1000)).to.equal(1);
        await connection.close();
      });

      it('counts a renewal that commits first, and refuses one that comes later', async () => {
        const connection = await reach();
        const due = nextDue();
        const opening = await openedTask(storage(), { expiresAt: due });
        await renewTimes(storage(), opening, 2);
        const hold = await holdAppends(kind, connection);
        const first = storage().tasks.renew(aRenewal(opening, { recordEach: true }));
        await hold.waiting(1);
        const swept = storage().sweeping.expire(asOf(due), 1000);
        const late = storage().tasks.renew(aRenewal(opening));
        await hold.release();
        expect([(await first).kind, await swept]).to.deep.equal(['renewed', 1]);
        const page = await storage().ledger.page({ taskId: opening.task.taskId, limit: 20, now: NOON });
        const summary = page.records.find(({ count }) => count !== undefined);
        // Whether the late one came before the grant was revoked is the database's to say; the count is exact anyhow.
        expect(summary?.count).to.equal((await late).kind === 'renewed' ? 2 : 1);
        await connection.close();
      });

      it('forgets in one instance at a time, and the others go their way', async () => {
        const connection = await reach();
        await openedTask(storage());
        await connection.sql('begin');
        await connection.sql(`select pg_advisory_xact_lock(${LOCK.forgetting}, 0)`);
        expect(await storage().sweeping.forget(plusSeconds(NOON, 10_000_000), 1000)).to.equal(0);
        await connection.sql('rollback');
        expect(await storage().sweeping.forget(plusSeconds(NOON, 10_000_000), 1000)).to.be.greaterThan(0);
        await connection.close();
      });
    }
  },
  databases,
);
