/** The end of a task ends ten thousand tasks below it, in one transaction and within seconds. */

import { expect } from 'chai';
import { endTasks } from '../../../application/decisions/end-tasks.ts';
import { openTask, type TaskOpening } from '../../../application/decisions/open-task.ts';
import { onEveryDatabase } from '../../contract/on-every-database.ts';
import { aChildOpening, anOpening, registeredAgent } from '../../contract/storage-fixtures.ts';
import { LATER } from '../../contract/world.ts';
import type { Storage } from '../../support/storage.ts';

const LEAVES = 10_000;
/** As many tasks as one may have below it at most (`Service:Delegation:MaxChildrenPerTask`). */
const CHILDREN = 1000;
const AT_ONCE = 50;
const WITHIN_MS = 5_000;

onEveryDatabase('a tree of ten thousand leaves', ({ storage }) => {
  async function open({ decide }: Storage, openings: readonly TaskOpening[]): Promise<void> {
    for (let from = 0; from < openings.length; from += AT_ONCE) {
      const verdicts = await Promise.all(openings.slice(from, from + AT_ONCE).map((each) => decide(openTask, each)));
      for (const { kind } of verdicts) expect(kind).to.equal('opened');
    }
  }

  it('ends within five seconds with its root, each task with its record', async function () {
    this.timeout(300_000);
    const [own, other] = [await registeredAgent(storage()), await registeredAgent(storage())];
    const root = anOpening(own);
    const { sponsorKey, sponsor, taskId } = root.task;
    const below = (parent: TaskOpening) => aChildOpening(other, parent, { sponsorKey, sponsor });
    const middle = Array.from({ length: LEAVES / CHILDREN }, () => below(root));
    const leaves = middle.flatMap((parent) => Array.from({ length: CHILDREN }, () => below(parent)));
    for (const level of [[root], middle, leaves]) await open(storage(), level);
    const began = performance.now();
    const verdict = await storage().decide(endTasks, {
      selection: { kind: 'task', taskId, sponsorKey },
      at: LATER,
      reason: 'operator_kill_switch',
    });
    const took = performance.now() - began;
    const all = 1 + middle.length + leaves.length;
    expect(verdict).to.deep.include({ kind: 'ended', tasks: all });
    expect(took).to.be.below(WITHIN_MS);
    const { records } = await storage().ledger.page({ sponsor, limit: 3 * all, now: LATER });
    const ends = records.filter(({ event }) => event === 'task.revoked');
    expect(new Set(ends.map((end) => end.taskId))).to.have.property('size', all);
    expect(ends.filter(({ reason }) => reason === 'parent_revoked')).to.have.length(all - 1);
  });
});
