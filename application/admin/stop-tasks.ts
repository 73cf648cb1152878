/** The operator's kill switches: they end a task, an agent's tasks or a person's (specification "Admin API"). */

import type { Clock } from '../ports/runtime.ts';
import type { EndOutcome, TaskSelection, Tasks } from '../ports/tasks.ts';

export interface TaskStopping {
  readonly tasks: Pick<Tasks, 'end'>;
  readonly clock: Clock;
}

/** This places no block: a person whose tasks were ended may start new ones at once. Blocking is a separate request. */
export function stopTasks({ tasks, clock }: TaskStopping, selection: TaskSelection): Promise<EndOutcome> {
  return tasks.end(selection, { at: clock.now(), reason: 'operator_kill_switch' });
}
