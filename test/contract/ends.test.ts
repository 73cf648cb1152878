/**
 * Ends of one task that wait together: revocations by grant, stops of an operator and of a person, and revocations of a
 * single token. On Postgres they share a transaction, except those of a task with delegated tasks and those that fail.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { endOwnTasks, endTasks } from '../../application/decisions/end-tasks.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { Storage } from '../support/storage.ts';
import { whileWritesFail } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import {
  aChildOpening,
  anOpening,
  aRenewal,
  aRevocation,
  aTokenRevocation,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';
import { anAct, LATER } from './world.ts';

const ROUNDS = repetitions(10, 200);
/** With six requests about each, more than two batches hold. */
const TASKS = 8;
/** Requests under way: more than the batches under way hold. */
const BUSY = 64;

const stopOf = ({ task: { taskId, sponsorKey } }: TaskOpening) =>
  ({ selection: { kind: 'task', taskId, sponsorKey }, at: LATER, reason: 'operator_kill_switch' }) as const;

onEveryDatabase('ends of one task that wait together', ({ storage, database, outside, kind }) => {
  /** Starts all at once. Returns their verdicts in brief, and the records of each task in brief. */
  async function together(all: readonly (() => Promise<unknown>)[]) {
    const verdicts: string[] = [];
    const records = await recordedBy(storage(), async () => {
      for (const outcome of await Promise.allSettled(all.map((decide) => decide()))) {
        verdicts.push(outcome.status === 'rejected' ? 'thrown' : inBrief(outcome.value));
      }
    });
    const of = ({ task: { taskId } }: TaskOpening) =>
      records
        .filter((record) => record.taskId === taskId)
        .map(({ event, reason, count }) => [event, reason, count].filter((each) => each !== undefined).join(' '));
    return { verdicts, of, records };
  }

  const stateOf = async ({ task, entry }: TaskOpening) =>
    (await storage().tasks.tokenFacts(entry.jti as never, task.taskId))?.taskState.kind;

  const delegatedFrom = async (parent: TaskOpening) => {
    const child = aChildOpening(await registeredAgent(storage()), parent);
    expect(await storage().tasks.open(child)).to.deep.include({ kind: 'opened' });
    return child;
  };

  for (const fails of [false, true]) {
    const title = fails ? ', also if the database refuses the writes of one' : '';

    it(`each get their own verdict and records${title}: revocations by agents`, async () => {
      const { decide } = storage();
      const agent = await registeredAgent(storage());
      const opened = () => openedTask(storage(), {}, agent);
      const [plain, renewed, ended, twice, replayed] = [
        await opened(),
        await opened(),
        await opened(),
        await opened(),
        await opened(),
      ];
      const [parent, failing, ofToken] = [await opened(), await opened(), await opened()];
      const over = await openedTask(storage(), { expiresAt: plusSeconds(LATER, -1) }, agent);
      const another = await openedTask(storage());
      const child = await delegatedFrom(parent);
      await renewTimes(storage(), renewed, 3);
      const times = [ended, plain, renewed, twice, parent, failing, another];
      /** Each task ends at another time. */
      const timeOf = (opening: TaskOpening) =>
        instantFromMicros(LATER + (fails ? 2_000_000 : 1_000_000) + times.indexOf(opening));
      const revoke = (opening: TaskOpening) => () => decide(revokeGrant, aRevocation(opening, { at: timeOf(opening) }));
      await revoke(ended)();
      const all = () =>
        together([
          revoke(plain),
          revoke(renewed),
          revoke(ended),
          revoke(twice),
          revoke(twice),
          () => decide(revokeGrant, aRevocation(replayed, { at: LATER, assertion: plain.assertion })),
          revoke(parent),
          revoke(failing),
          revoke(over),
          revoke(another),
          () => decide(revokeSingleToken, aTokenRevocation(ofToken)),
        ]);
      const when = `new.task_id = '${failing.task.taskId}'`;
      const { verdicts, of, records } = fails
        ? await whileWritesFail(kind, await outside('owner'), { table: 'tasks', on: 'update', when }, all)
        : await all();
      // If a batch fails, its decisions run alone, and either of the two ends of one task may be the first.
      expect(verdicts.splice(3, 2)).to.have.members(['revoked', 'already_ended']);
      expect(verdicts).to.deep.equal([
        'revoked',
        'revoked',
        'already_ended',
        'replayed',
        'revoked',
        fails ? 'thrown' : 'revoked',
        'already_ended',
        'revoked',
        'revoked',
      ]);
      const END = 'task.revoked client_revoked';
      const isBatched = (opening: TaskOpening) => [plain, renewed, another].includes(opening);
      const expected = new Map<TaskOpening, readonly string[]>([
        [plain, [END]],
        [renewed, ['token.refreshed 2', END]],
        [ended, []],
        [twice, [END]],
        [replayed, []],
        [parent, [END]],
        [child, ['task.revoked parent_revoked']],
        [failing, fails ? [] : [END]],
        [over, []],
        [another, [END]],
        [ofToken, ['token.revoked client_revoked']],
      ]);
      for (const [opening, recorded] of expected) {
        expect(of(opening)).to.deep.equal(recorded);
        const isEnded = opening === ended || recorded.some((record) => record.startsWith('task.revoked'));
        const at = isEnded ? timeOf(opening === child ? parent : opening) : undefined;
        const grant = await storage().tasks.findGrant(opening.task.agentId, opening.grantHash);
        expect(grant?.revokedAt).to.equal(at);
        const reason = opening === child ? 'parent_revoked' : 'client_revoked';
        // Batches under way at once are recorded in any order, and no date is before that of an earlier record.
        const date = records.find(({ taskId }) => taskId === opening.task.taskId)?.at;
        if (isBatched(opening) && !fails) expect(date).to.be.within(Number(at), Math.max(...times.map(timeOf)));
        expect(grant?.taskState).to.deep.equal(at ? { kind: 'revoked', at, reason } : { kind: 'live' });
      }
    });

    for (const [who, end] of [
      ['an operator', endTasks],
      ['a person', endOwnTasks],
    ] as const) {
      it(`each get their own verdict and records${title}: stops of ${who}`, async () => {
        const { decide } = storage();
        const agent = await registeredAgent(storage());
        const opened = () => openedTask(storage(), {}, agent);
        const [plain, twice, parent, failing, acted] = [
          await opened(),
          await opened(),
          await opened(),
          await opened(),
          await opened(),
        ];
        const child = await delegatedFrom(parent);
        const stop = (opening: TaskOpening) => () => decide(end, stopOf(opening));
        const all = () =>
          together([
            stop(plain),
            stop(twice),
            stop(twice),
            stop(parent),
            stop(failing),
            stop(anOpening(agent)),
            () => decide(end, { ...stopOf(acted), act: anAct('DELETE tasks') }),
          ]);
        const when = `new.task_id = '${failing.task.taskId}'`;
        const { verdicts, of, records } = fails
          ? await whileWritesFail(kind, await outside('owner'), { table: 'tasks', on: 'update', when }, all)
          : await all();
        expect(verdicts).to.deep.equal(['1', '1', '0', '2', fails ? 'thrown' : '1', 'not_found', '1']);
        const END = 'task.revoked operator_kill_switch';
        for (const opening of [plain, twice, parent, acted]) expect(of(opening)).to.deep.equal([END]);
        expect(of(child)).to.deep.equal(['task.revoked parent_revoked']);
        expect(of(failing)).to.deep.equal(fails ? [] : [END]);
        expect(records.filter(({ event }) => event === 'operator.acted')).to.have.length(1);
        expect(await stateOf(failing)).to.equal(fails ? 'live' : 'revoked');
      });
    }
  }

  it('do not wait for the requests about the same person that keep coming', async () => {
    const { decide } = storage();
    const agent = await registeredAgent(storage());
    const sponsorKey = newSponsorKey();
    const opened = () => openedTask(storage(), { sponsorKey }, agent);
    const ending = await opened();
    const openings = await Promise.all(Array.from({ length: BUSY }, opened));
    let isEnded = false;
    let renewals = 0;
    const renewing = openings.map(async (opening) => {
      while (!isEnded && renewals < BUSY * 20) {
        expect((await decide(renewGrant, aRenewal(opening))).kind).to.equal('renewed');
        renewals += 1;
      }
    });
    while (renewals < BUSY) await nextTurn();
    const before = renewals;
    expect(await decide(revokeGrant, aRevocation(ending))).to.equal('revoked');
    isEnded = true;
    // Those that were there before it, at most.
    expect(renewals - before).to.be.at.most(BUSY);
    await Promise.all(renewing);
  });

  it('end each task once, count each renewal before it, and leave no delegated task live', async function () {
    this.timeout(60_000 + ROUNDS * 2_000);
    const other = kind.engine === 'postgres' ? await database().open() : storage();
    const [agent, helper] = [await registeredAgent(storage()), await registeredAgent(storage())];
    const processes: readonly Storage[] = [storage(), other];
    for (let round = 0; round < ROUNDS; round++) {
      const openings = [];
      for (let nth = 0; nth < TASKS; nth++) openings.push(await openedTask(storage(), {}, agent));
      const children = openings.map((opening) => aChildOpening(helper, opening));
      const renewals = openings.map(() => 0);
      const ends = openings.map(() => 0);
      const tasks = openings.map((opening, nth) => [
        async () => {
          for (const { decide } of processes) {
            if ((await decide(renewGrant, aRenewal(opening))).kind === 'renewed')
              renewals[nth] = (renewals[nth] ?? 0) + 1;
          }
        },
        ...processes.flatMap(({ decide }) => [
          async () => {
            if ((await decide(revokeGrant, aRevocation(opening))) === 'revoked') ends[nth] = (ends[nth] ?? 0) + 1;
          },
          async () => {
            const ended = await decide(round % 2 === 0 ? endTasks : endOwnTasks, stopOf(opening));
            if (ended.kind === 'ended' && ended.tasks > 0) ends[nth] = (ends[nth] ?? 0) + 1;
          },
        ]),
        async () => {
          const child = children[nth];
          if (child === undefined) throw new Error('each task has a child');
          expect((await other.decide(openTask, child)).kind).to.be.oneOf(['opened', 'parent_ended']);
        },
      ]);
      // Each round starts with another kind of request.
      const kinds = tasks[0]?.map((_, nth) => (nth + round) % (tasks[0]?.length ?? 1)) ?? [];
      await Promise.all(kinds.flatMap((which) => tasks.map((ofTask) => ofTask[which]?.())));
      expect(ends, `round ${round}`).to.deep.equal(openings.map(() => 1));
      for (const [nth, { task }] of openings.entries()) {
        const { records } = await storage().ledger.page({ taskId: task.taskId, limit: 100, now: LATER });
        const events = records.map(({ event }) => event);
        expect(events.filter((event) => event === 'task.revoked')).to.have.length(1);
        expect(events.at(-1)).to.equal('task.revoked');
        const counted = records.map(({ event, count = 1 }) => (event === 'token.refreshed' ? count : 0));
        expect(counted.reduce((sum, count) => sum + count, 0)).to.equal(renewals[nth]);
        const child = children[nth];
        expect(child && (await stateOf(child))).to.be.oneOf([undefined, 'revoked']);
      }
    }
    if (other !== storage()) await other.close();
  });
});

/** The number of ended tasks, or the name of the verdict. */
function inBrief(verdict: unknown): string {
  if (typeof verdict === 'string') return verdict;
  const { kind, tasks } = verdict as { readonly kind: string; readonly tasks?: number };
  return String(tasks ?? kind);
}
