/** The end of all tasks of all people, in portions: docs/decisions/0031-everything-ends-in-portions.md. */

import { expect } from 'chai';
import { ulid } from 'ulid';
import { explaining } from '../../application/admin/explaining.ts';
import { STOPPING_LIMIT_MS, stopEverything } from '../../application/admin/stop-everything.ts';
import { endSomeTasks, endTasks } from '../../application/decisions/end-tasks.ts';
import { type Decisions, StorageUnavailable } from '../../application/ports/decisions.ts';
import { makeTaskId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { byLength } from '../support/length.ts';
import type { Storage } from '../support/storage.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { lockAppends } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  aChildOpening,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';
import { anAct, LATER } from './world.ts';

/** More than a portion. */
const MANY = byLength({ short: 5_001, full: 1_000_000 });
const PORTION = 2;
const revokedIn = (records: readonly LedgerRecord[]) => records.filter(({ event }) => event === 'task.revoked');
const actsIn = (records: readonly LedgerRecord[]) => records.filter(({ event }) => event === 'operator.acted');

onEveryDatabase('everything', ({ storage, database, kind, outside }) => {
  const service = (decisions: Decisions = storage()) => ({
    decisions,
    sharedTime: { earliest: async () => LATER },
    monotonic: () => 0,
    portion: PORTION,
  });
  /** The decisions of one request of an operator. */
  const asOperator = (decisions: Storage = storage()) =>
    explaining(
      { clock: { now: () => LATER }, randomness: { secret: () => 'salt' }, digest: () => 'a'.repeat(64) },
      decisions,
      anAct('DELETE /admin/tasks'),
    );
  /** The decisions, with an act after each portion. */
  const after = (act: (portion: number) => Promise<unknown>): Decisions => {
    let portion = 0;
    return {
      async decide(decision, input) {
        const verdict = await storage().decide(decision, input);
        if (decision.name === endSomeTasks.name) await act(++portion);
        return verdict;
      },
    };
  };
  /** Tasks of one agent each, of which the last is delegated from the first. */
  async function open(count: number) {
    const first = await openedTask(storage());
    const others = [];
    for (let nth = 2; nth < count; nth++) others.push(await openedTask(storage()));
    const child = aChildOpening(await registeredAgent(storage()), first, { createdAt: instantFromMicros(NOON + 9) });
    expect(await storage().tasks.open(child)).to.deep.include({ kind: 'opened' });
    return [first, ...others, child];
  }
  const statesOf = async (opened: Awaited<ReturnType<typeof open>>) =>
    (await Promise.all(opened.map(({ task }) => storage().tasks.findListed(task.taskId, LATER)))).map(
      (found) => found?.state.kind,
    );
  afterEach(() => stopEverything({ ...service(), portion: 1000 }));

  it('ends once, with a record of each task and one act for each portion that explains its records', async () => {
    const opened = await open(5);
    await renewTimes(storage(), opened[2] as (typeof opened)[number], 3);
    const over = await openedTask(storage(), { expiresAt: LATER });
    const { storage: decisions, settle } = asOperator();
    const records = await recordedBy(storage(), async () => {
      expect(await stopEverything(service(decisions))).to.deep.equal({ kind: 'ended', tasks: 5 });
      await settle();
    });
    expect(new Set(await statesOf(opened))).to.deep.equal(new Set(['revoked']));
    expect(await statesOf([over])).to.deep.equal(['expired']);
    const ended = revokedIn(records);
    expect(ended.map(({ taskId }) => taskId)).to.have.members(opened.map(({ task }) => task.taskId));
    expect(new Set(ended.map(({ reason }) => reason))).to.deep.equal(new Set(['operator_kill_switch']));
    expect(records.filter(({ event }) => event === 'token.refreshed').map(({ count }) => count)).to.deep.equal([2]);
    const acts = actsIn(records);
    // The task delegated from the first ends in its portion.
    expect(acts.length).to.be.within(2, 3);
    const explained = acts.flatMap(({ seq, detail }) => {
      const from = Number(new URLSearchParams(detail).get('seq'));
      return records.filter((record) => record.seq >= from && record.seq < seq);
    });
    expect([...explained, ...acts].map(({ seq }) => seq)).to.have.members(records.map(({ seq }) => seq));
    expect(explained).to.have.length(records.length - acts.length);

    const again = await recordedBy(storage(), async () => {
      expect(await stopEverything(service())).to.deep.equal({ kind: 'ended', tasks: 0 });
    });
    expect(again).to.deep.equal([]);
  });

  it('leaves one record of an act that ended nothing', async () => {
    const { storage: decisions, settle } = asOperator();
    const records = await recordedBy(storage(), async () => {
      await stopEverything(service(decisions));
      await settle();
    });
    expect(records.map(({ event }) => event)).to.deep.equal(['operator.acted']);
  });

  it('ends once if two operators ask at once, each in another process', async () => {
    const opened = await open(12);
    const other = kind.engine === 'postgres' ? await database().open() : storage();
    const requests = [asOperator(), asOperator(other)];
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        requests.map(async ({ storage: decisions, settle }) => {
          const outcome = await stopEverything(service(decisions));
          await settle();
          return outcome;
        }),
      );
      expect(outcomes.map((outcome) => outcome.kind)).to.deep.equal(['ended', 'ended']);
      expect(outcomes.reduce((sum, { tasks }) => sum + tasks, 0)).to.equal(12);
    });
    if (other !== storage()) await other.close();
    const ended = revokedIn(records).map(({ taskId }) => taskId);
    expect(ended).to.have.members(opened.map(({ task }) => task.taskId));
    expect(ended).to.have.length(12);
    expect(new Set(await statesOf(opened))).to.deep.equal(new Set(['revoked']));
  });

  it('goes on after a portion whose tasks another kill switch has ended meanwhile', async () => {
    const ids = Array.from({ length: 4 }, () => makeTaskId(ulid())).toSorted();
    const sponsorKey = newSponsorKey();
    const opened = [];
    for (const [nth, taskId] of ids.entries()) {
      opened.push(await openedTask(storage(), { taskId, ...(nth < PORTION ? { sponsorKey } : {}) }));
    }
    const lock = await lockAppends(kind, await outside());
    const selection = { kind: 'sponsor', sponsorKey } as const;
    const ofPerson = storage().decide(endTasks, { selection, at: LATER, reason: 'operator_kill_switch' });
    await lock.untilWaiting(1);
    const everything = stopEverything(service());
    await lock.untilBlocked(2);
    await lock.release();
    expect(await ofPerson).to.deep.equal({ kind: 'ended', tasks: PORTION });
    expect(await everything).to.deep.equal({ kind: 'ended', tasks: 2 });
    expect(new Set(await statesOf(opened))).to.deep.equal(new Set(['revoked']));
  });

  it('keeps what has ended, with its records and its act, if a later portion fails, and a repetition ends the rest', async () => {
    const opened = await open(6);
    const failing = after(async (portion) => {
      if (portion === 2) throw new StorageUnavailable('The process died here');
    });
    const { storage: decisions } = asOperator({ ...storage(), ...failing });
    const records = await recordedBy(storage(), async () => {
      expect(await thrownBy(stopEverything(service(decisions)))).to.be.instanceOf(StorageUnavailable);
    });
    const states = await statesOf(opened);
    const ended = opened.filter((_, nth) => states[nth] === 'revoked').map(({ task }) => task.taskId);
    expect(ended.length).to.be.within(4, 5);
    expect(revokedIn(records).map(({ taskId }) => taskId)).to.have.members(ended);
    expect(actsIn(records)).to.have.length(2);
    // No task outlives the one it was delegated from, not even here.
    expect([states[0], states[5]]).not.to.deep.equal(['revoked', 'live']);

    const rest = await recordedBy(storage(), async () => {
      expect(await stopEverything(service())).to.deep.equal({ kind: 'ended', tasks: 6 - ended.length });
    });
    expect(revokedIn(rest)).to.have.length(6 - ended.length);
    expect(new Set(await statesOf(opened))).to.deep.equal(new Set(['revoked']));
  });

  it('begins no portion after its time, and says that tasks are left', async () => {
    const opened = await open(7);
    let now = 1;
    const decisions = after(async () => {
      now += STOPPING_LIMIT_MS / 2;
    });
    const outcome = await stopEverything({ ...service(decisions), monotonic: () => now });
    expect(outcome.kind).to.equal('time_up');
    const left = (await statesOf(opened)).filter((state) => state === 'live').length;
    expect(outcome.tasks).to.be.within(4, 5);
    expect(left).to.equal(7 - outcome.tasks);
  });

  it('comes to an end while agents start new tasks, and ends those that began before', async () => {
    const opened = await open(6);
    const agent = await registeredAgent(storage());
    let portions = 0;
    const decisions = after(async (portion) => {
      portions = portion;
      await openedTask(storage(), {}, agent);
    });
    expect((await stopEverything(service(decisions))).kind).to.equal('ended');
    expect(portions).to.be.at.most(6);
    expect(new Set(await statesOf(opened))).to.deep.equal(new Set(['revoked']));
  });

  it(`ends ${MANY} tasks, while other decisions go on`, async function () {
    this.timeout(byLength({ short: 60_000, full: 1_200_000 }));
    const { task } = await openedTask(storage());
    const sql = await outside('owner');
    const copies =
      kind.engine === 'postgres'
        ? `generate_series(1, ${MANY - 1}) n`
        : `(with recursive s (n) as (select 1 union all select n + 1 from s where n < ${MANY - 1}) select n from s)`;
    const id = kind.engine === 'postgres' ? "'task_' || lpad(n::text, 26, '0')" : "'task_' || printf('%026d', n)";
    const columns = 'agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at, state';
    await sql.sql(`insert into tasks (task_id, ${columns}) select ${id}, ${columns} from tasks, ${copies}
      where task_id = '${task.taskId}'`);
    await sql.sql(`insert into task_grants (grant_hash, task_id, scope)
      select 'grant of ' || task_id, task_id, scope from tasks where task_id like 'task_0000%' and state = 'live'`);
    const agent = await registeredAgent(storage());
    let waited = 0;
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        const since = performance.now();
        await openedTask(storage(), { createdAt: LATER, expiresAt: plusSeconds(LATER, 60) }, agent);
        waited = Math.max(waited, performance.now() - since);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    let tasks = 0;
    let requests = 0;
    for (let kindOf = ''; kindOf !== 'ended'; requests++) {
      const { decisions, sharedTime } = service();
      const outcome = await stopEverything({ decisions, sharedTime, monotonic: () => performance.now() });
      tasks += outcome.tasks;
      kindOf = outcome.kind;
    }
    isOver = true;
    await others;
    if (MANY > 100_000)
      console.log(`      ${requests} requests; another decision waited ${Math.round(waited)} ms at most`);
    expect(tasks).to.be.at.least(MANY);
    const counted = await sql.sql(
      "select count(*) as tasks from tasks where task_id like 'task_0000%' and state = 'revoked' and ended_at is not null",
    );
    expect(Number((counted[0] as { tasks: unknown }).tasks)).to.equal(MANY - 1);
  });
});
