/**
 * The person's own stop: one task, an agent's tasks for them, or all their tasks. Another person's task is not found.
 */

import type { AgentId, TaskId } from '../../domain/identifiers.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type EndVerdict, endOwnTasks } from '../decisions/end-tasks.ts';
import { findOwnTaskSponsor } from '../decisions/find.ts';
import { type Decisions, foundBy } from '../ports/decisions.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';

interface TaskStopping {
  readonly decisions: Decisions;
  readonly tasks: Pick<Tasks, 'findSponsor'>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
}

export type MyStopSelection =
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'sponsor' }
  | { readonly kind: 'sponsor_agent'; readonly agentId: AgentId };

/** `not_found` only for a task: the answer does not say which agents exist. */
export async function stopMyTasks(
  { decisions, tasks, sharedTime }: TaskStopping,
  { sponsorKey }: MePerson,
  selection: MyStopSelection,
): Promise<EndVerdict> {
  if (selection.kind === 'task') {
    // The plain read may have asked another server than the decision does, or none.
    const { taskId } = selection;
    const found = await foundBy(tasks.findSponsor(taskId));
    const owner = found ?? (await decisions.decide(findOwnTaskSponsor, { taskId }));
    if (owner !== sponsorKey) return { kind: 'not_found' };
  }
  const revocation = { at: await sharedTime.earliest(), reason: 'sponsor_stopped' } as const;
  return decisions.decide(endOwnTasks, { selection: { ...selection, sponsorKey }, ...revocation });
}
