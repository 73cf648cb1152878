import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import { logOut } from '../../application/decisions/log-out.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { spendAssertion } from '../../application/decisions/spend-assertion.ts';
import { deleteEndedTasks, expireDueTasks } from '../../application/decisions/sweep.ts';
import type { TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { lockAppends } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import {
  anAssertion,
  anOpening,
  aRenewal,
  aTokenRevocation,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

/** Each test has its own expiry, before that of all other tasks here. */
let nth = 0;
const nextDue = (): Instant => plusSeconds(NOON, 10 * ++nth);

const LONG_AFTER = plusSeconds(NOON, 1_000_000);

const expire = ({ decide }: Storage, at: Instant, limit = 1000) => decide(expireDueTasks, { overBy: at, at, limit });
const remove = ({ decide }: Storage, endedBy = LONG_AFTER, limit = 1000) =>
  decide(deleteEndedTasks, { endedBy, limit });
const kill = ({ tasks }: Storage, taskId: TaskId, at: Instant) =>
  tasks.end({ kind: 'task', taskId }, { at, reason: 'operator_kill_switch' });

onEveryDatabase('the expiry of tasks', ({ storage, database, outside, kind }) => {
  const grantOf = ({ task, grantHash }: TaskOpening) => storage().tasks.findGrant(task.agentId, grantHash);

  it('records each expiry once, however many instances sweep concurrently', async function () {
    this.timeout(60_000);
    const others = [await database().open(), await database().open()];
    const agent = await registeredAgent(storage());
    for (let round = 0; round < repetitions(5); round++) {
      const due = nextDue();
      const openings: TaskOpening[] = [];
      for (let task = 0; task < 25; task++) {
        const opening = await openedTask(storage(), { expiresAt: due }, agent);
        await renewTimes(storage(), opening, task % 3);
        openings.push(opening);
      }
      const records = await recordedBy(storage(), async () => {
        const sweeps = [storage(), ...others, storage()].map(async (instance) => {
          let swept = 0;
          for (let batch = -1; batch !== 0; swept += batch) batch = await expire(instance, due, 4);
          return swept;
        });
        expect((await Promise.all(sweeps)).reduce((sum, count) => sum + count, 0)).to.equal(25);
      });
      const ends = records.filter(({ event }) => event === 'task.expired').map(({ taskId }) => taskId);
      expect(ends).to.have.members(openings.map(({ task }) => task.taskId));
      // Every third task has two renewals, of which one has no record.
      expect(records.filter(({ event }) => event === 'token.refreshed')).to.have.length(8);
    }
    for (const other of others) await other.close();
  });

  it('is recorded, or a concurrent kill switch, but never both', async function () {
    this.timeout(60_000);
    const other = await database().open();
    const agent = await registeredAgent(storage());
    for (let round = 0; round < repetitions(20); round++) {
      const due = nextDue();
      const opening = await openedTask(storage(), { expiresAt: due }, agent);
      // The clock of the kill switch is behind, and the task has not expired by it.
      const earlier = instantFromMicros(due - 1);
      const decide = [() => expire(storage(), due, 20), () => kill(other, opening.task.taskId, earlier)];
      if (round % 2 === 1) decide.reverse();
      const records = await recordedBy(storage(), () => Promise.all(decide.map((decision) => decision())));
      const state = (await grantOf(opening))?.taskState.kind;
      expect(records.map(({ event }) => event)).to.deep.equal([`task.${state}`]);
    }
    await other.close();
  });

  if (kind.engine === 'postgres') {
    it('skips a task that a kill switch has locked, and does not wait for the lock', async () => {
      const connection = await outside();
      const due = nextDue();
      const held = await openedTask(storage(), { expiresAt: due });
      const free = await openedTask(storage(), { expiresAt: due });
      await connection.sql('begin');
      await connection.sql(`select 1 from tasks where task_id = '${held.task.taskId}' for update`);
      expect(await expire(storage(), due)).to.equal(1);
      await connection.sql('rollback');
      expect((await grantOf(free))?.taskState.kind).to.equal('expired');
      expect(await expire(storage(), due)).to.equal(1);
    });

    it('counts a renewal that commits first, and refuses a later one', async () => {
      const connection = await outside();
      const due = nextDue();
      const opening = await openedTask(storage(), { expiresAt: due });
      await renewTimes(storage(), opening, 2);
      const lock = await lockAppends(kind, connection);
      const first = storage().decide(renewGrant, aRenewal(opening, { recordEach: true }));
      await lock.untilWaiting(1);
      const swept = expire(storage(), due);
      const late = storage().decide(renewGrant, aRenewal(opening));
      await lock.release();
      expect([(await first).kind, await swept]).to.deep.equal(['renewed', 1]);
      const page = await storage().ledger.page({ taskId: opening.task.taskId, limit: 20, now: NOON });
      const summary = page.records.find(({ count }) => count !== undefined);
      // Postgres decides whether the late renewal or the expiry comes first. The count must be exact in both orders.
      expect(summary?.count).to.equal((await late).kind === 'renewed' ? 2 : 1);
    });
  }
});

onEveryDatabase('the deletion of ended tasks', ({ storage, outside, kind }) => {
  const revokedTask = async (at: Instant, changes: Partial<Task> = {}) => {
    const opening = await openedTask(storage(), changes);
    await kill(storage(), opening.task.taskId, at);
    return opening;
  };

  if (kind.engine === 'postgres') {
    it('skips a task that another instance is deleting, and does not wait for the lock', async () => {
      const connection = await outside();
      while ((await remove(storage())) > 0);
      const at = nextDue();
      const [held] = [await revokedTask(at), await revokedTask(at)];
      await connection.sql('begin');
      for (const table of ['task_grants', 'tasks']) {
        await connection.sql(`delete from ${table} where task_id = '${held.task.taskId}'`);
      }
      expect(await remove(storage())).to.equal(1);
      await connection.sql('rollback');
      expect(await remove(storage())).to.equal(1);
    });
  }
});

onEveryDatabase('rows that have expired', ({ storage, outside, kind }) => {
  /** Stores a row that expires at `forgetAt`. The result tells whether the row is still stored. */
  type Store = (forgetAt: Instant) => Promise<() => Promise<boolean>>;
  const signal = (forgetAt: Instant) => ({ issuer: 'https://idp.example', jti: `${forgetAt}`, forgetAt, at: NOON });
  const stores: Readonly<Record<string, Store>> = {
    async 'a used assertion'(forgetAt) {
      const assertion = { ...anAssertion((await registeredAgent(storage())).agentId), forgetAt };
      const spend = () => storage().decide(spendAssertion, assertion);
      expect(await spend()).to.equal('spent');
      return async () => (await spend()) === 'replayed';
    },
    async 'a revoked token'(forgetAt) {
      const revocation = aTokenRevocation(await openedTask(storage()), { forgetAt });
      const { tokenId, taskId } = revocation;
      await storage().decide(revokeSingleToken, revocation);
      return async () => (await storage().tasks.tokenFacts(tokenId, taskId))?.tokenRevocation !== undefined;
    },
    async 'an accepted signal'(forgetAt) {
      const loggedOut = { kind: 'person', subject: `signal-${forgetAt}` } as const;
      const accept = () => storage().decide(logOut, { ...signal(forgetAt), loggedOut });
      expect((await accept()).kind).to.equal('accepted');
      return async () => (await accept()).kind === 'repeated';
    },
    async 'a remembered logout'(forgetAt) {
      const subject = `person-${forgetAt}`;
      const remember = { statedAt: NOON, forgetAt };
      const occurrence = { ...signal(forgetAt), forgetAt: NOON };
      await storage().decide(logOut, { ...occurrence, loggedOut: { kind: 'person', subject }, remember });
      const opening = anOpening(await registeredAgent(storage()), { sponsor: subject });
      const guarded = { ...opening, refuseLoggedOut: { issuedAt: NOON, earliest: opening.task.createdAt } };
      return async () => (await storage().decide(openTask, guarded)).kind === 'logged_out';
    },
  };

  for (const [title, store] of Object.entries(stores)) {
    it(`are deleted by the sweeper as soon as no request can need them: ${title}`, async () => {
      const until = nextDue();
      const areKnown = [await store(until), await store(instantFromMicros(until + 1))];
      await storage().sweeping.forget(until, 1000);
      expect(await Promise.all(areKnown.map((isKnown) => isKnown()))).to.deep.equal([false, true]);
    });
  }

  it('are deleted in batches, until none is left', async () => {
    while ((await storage().sweeping.forget(LONG_AFTER, 1000)) > 0);
    const { agentId } = await registeredAgent(storage());
    for (let used = 0; used < 5; used++) await storage().decide(spendAssertion, anAssertion(agentId));
    const forgotten = [];
    for (let batch = 0; batch < 4; batch++) forgotten.push(await storage().sweeping.forget(LONG_AFTER, 2));
    expect(forgotten).to.deep.equal([2, 2, 1, 0]);
  });

  if (kind.engine === 'postgres') {
    // Postgres before 17.7 keeps the row only because the deletion compares its time again. Later versions also compare
    // its `ctid` again.
    it('are not deleted if a renewal changes them while the deletion waits for the row', async () => {
      const until = nextDue();
      const [due, renewed] = ['due', 'renewed'].map((name) => `${name}-${until}`);
      const remembered = (subject: string | undefined, forgetAt: Instant) => {
        const loggedOut = { kind: 'person', subject: String(subject) } as const;
        return storage().decide(logOut, {
          issuer: 'https://idp.example',
          jti: randomUUID(),
          forgetAt: LONG_AFTER,
          at: NOON,
          loggedOut,
          remember: { statedAt: NOON, forgetAt },
        });
      };
      for (const subject of [due, renewed]) await remembered(subject, until);
      const connection = await outside();
      // The renewal has written its row, and waits for the fence of the ledger before it commits.
      const lock = await lockAppends(kind, connection);
      const renewal = remembered(renewed, LONG_AFTER);
      await lock.untilBlocked(1);
      const swept = storage().sweeping.forget(until, 1000);
      await lock.untilBlocked(2);
      await lock.release();
      await swept;
      expect((await renewal).kind).to.equal('accepted');
      const left = await connection.sql(`select name from logouts where name in ('${due}', '${renewed}')`);
      expect(left).to.deep.equal([{ name: renewed }]);
    });

    it('are deleted by one instance at a time, and the other instances do not wait', async () => {
      const connection = await outside();
      await openedTask(storage());
      await connection.sql('begin');
      await connection.sql(`select pg_advisory_xact_lock(${LOCK.forgetting}, 0)`);
      expect(await storage().sweeping.forget(LONG_AFTER, 1000)).to.equal(0);
      await connection.sql('rollback');
      expect(await storage().sweeping.forget(LONG_AFTER, 1000)).to.be.greaterThan(0);
    });
  }
});
