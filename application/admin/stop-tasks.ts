/**
 * The operator's kill switches: they end a task, an agent's tasks or a person's (specification "Admin API").
 *
 * Each file of this folder is one request of an operator. Some change something: kill switches (here), blocks
 * (block-sponsor.ts), agents (register-agent.ts, update-agent.ts, remove-agent.ts). With `Service:Operators`,
 * explaining.ts adds the operator's act to such a decision. Others read lists in pages (`list-*.ts`, list-page.ts).
 * apply-declarations.ts and compare-declarations.ts are for agents that are declared in files.
 */

import { type EndVerdict, endTasks } from '../decisions/end-tasks.ts';
import type { TaskSelection } from '../decisions/fact.ts';
import { findTaskSponsor } from '../decisions/find.ts';
import { type Decisions, foundBy } from '../ports/decisions.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';

interface TaskStopping {
  readonly decisions: Decisions;
  readonly tasks: Pick<Tasks, 'findSponsor'>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
}

/** One task, or all tasks of an agent or of a person. */
export type StopSelection = Extract<TaskSelection, { readonly kind: 'task' | 'agent' | 'sponsor' }>;

/** `not_found`: the task or agent does not exist. A person is never `not_found`. */
export type StopOutcome = EndVerdict;

/** This places no block: a person whose tasks were ended may start new ones at once. Blocking is a separate request. */
export async function stopTasks(
  { decisions, tasks, sharedTime }: TaskStopping,
  selection: StopSelection,
): Promise<StopOutcome> {
  const revocation = { at: await sharedTime.earliest(), reason: 'operator_kill_switch' } as const;
  if (selection.kind !== 'task') return decisions.decide(endTasks, { selection, ...revocation });
  // The plain read may have asked another server than the decision does, or none.
  const sponsorKey =
    (await foundBy(tasks.findSponsor(selection.taskId))) ?? (await decisions.decide(findTaskSponsor, selection));
  if (sponsorKey === undefined) return { kind: 'not_found' };
  return decisions.decide(endTasks, { selection: { ...selection, sponsorKey }, ...revocation });
}
