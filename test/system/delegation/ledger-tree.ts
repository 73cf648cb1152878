/** Reads trees of tasks from the records alone, in the order of the ledger (docs/sub-agents.md). */

import { expect } from 'chai';
import type { LedgerLine } from '../../support/mandate.ts';

interface RecordedTask {
  readonly agentId: unknown;
  readonly sponsor: unknown;
  readonly depth: unknown;
  readonly parentId: string | undefined;
  /** That of the last token that was recorded. */
  scope: readonly string[];
}

/** The names of a record's `detail`. */
const detailOf = ({ detail }: LedgerLine) => Object.fromEntries(new URLSearchParams(String(detail)));
const scopeOf = ({ scope }: LedgerLine) => String(scope).split(' ');

/**
 * Expects of each record what the records before it allow: a task is taken up from an offer of the task above, by the offered
 * agent, once; no token has a scope that a task above had lost; after its end a task has no record of a token.
 *
 * @param lines all records of some trees
 * @returns the tasks by their ids
 */
export function treesOf(lines: readonly LedgerLine[]): ReadonlyMap<string, RecordedTask> {
  const inOrder = lines.toSorted((one, other) => one.seq - other.seq).filter(({ decision }) => decision === 'allow');
  const tasks = new Map<string, RecordedTask>();
  const offers = new Map<string, LedgerLine>();
  const [spent, ended] = [new Set<string>(), new Set<string>()];
  /** The ids of the task and those above. */
  const chain = (taskId: string | undefined): readonly string[] =>
    taskId === undefined ? [] : [taskId, ...chain(tasks.get(taskId)?.parentId)];

  for (const [nth, line] of inOrder.entries()) {
    const taskId = String(line.task_id);
    const above = () => chain(tasks.get(taskId)?.parentId);
    const isHeld = () => {
      for (const id of [taskId, ...above()]) expect([...ended], `record ${line.seq}`).to.not.include(id);
      for (const id of above()) expect(tasks.get(id)?.scope, `record ${line.seq}`).to.include.members(scopeOf(line));
    };
    switch (line.event) {
      case 'token.issued': {
        const { agent_id: agentId, sponsor, delegation_depth: depth } = line;
        const taken = inOrder[nth + 1];
        const isTaken = taken?.event === 'delegation.taken' && taken.task_id === taskId;
        const parentId = isTaken ? detailOf(taken).parent : undefined;
        tasks.set(taskId, { agentId, sponsor, depth, parentId, scope: scopeOf(line) });
        expect([depth, sponsor]).to.deep.equal([chain(taskId).length, tasks.get(parentId ?? taskId)?.sponsor]);
        isHeld();
        break;
      }
      case 'delegation.taken': {
        const { offer = '', parent } = detailOf(line);
        expect(spent.has(offer), `${offer} was taken up before`).to.equal(false);
        spent.add(offer);
        const offered = offers.get(offer);
        expect([offered?.task_id, offered && detailOf(offered).child]).to.deep.equal([parent, line.agent_id]);
        expect(String(offered?.scope).split(' ')).to.include.members(scopeOf(line));
        break;
      }
      case 'delegation.offered':
        offers.set(detailOf(line).offer ?? '', line);
        isHeld();
        break;
      case 'token.refreshed': {
        isHeld();
        const task = tasks.get(taskId);
        if (task !== undefined) task.scope = scopeOf(line);
        break;
      }
      case 'task.revoked':
        expect(ended.has(taskId), `${taskId} was revoked before`).to.equal(false);
        ended.add(taskId);
        break;
    }
  }
  return tasks;
}
