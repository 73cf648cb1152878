/** The operator's kill switches: a task, an agent's tasks, a person's (specification "Admin API", DELETE of tasks). */

import type { Clock } from '../ports/clock.ts';
import type { EndOutcome, TaskSelection, Tasks } from '../ports/tasks.ts';

export interface TaskStopping {
  readonly tasks: Pick<Tasks, 'end'>;
  readonly clock: Clock;
}

/** A person whose tasks were stopped may start new ones at once; that is what a block is for. */
export function stopTasks({ tasks, clock }: TaskStopping, selection: TaskSelection): Promise<EndOutcome> {
  return tasks.end(selection, { at: clock.now(), reason: 'operator_kill_switch' });
}
