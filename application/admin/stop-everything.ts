/**
 * The operator's last kill switch: ends all tasks of all people. One transaction could not end a million tasks in time. Each
 * transaction ends a portion, with its records and the act of its operator. If the process dies, the ended tasks stay
 * ended, and a repeated request ends the rest.
 */

import { endAllRequests, endSomeTasks } from '../decisions/end-tasks.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Monotonic, SharedTime } from '../ports/runtime.ts';

interface EverythingStopping {
  readonly decisions: Decisions;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
  readonly monotonic: Monotonic;
  /** In tests: the tasks of a portion. */
  readonly portion?: number;
}

export interface EverythingOutcome {
  /** `time_up`: more tasks are live. */
  readonly kind: 'ended' | 'time_up';
  /** The number of tasks that this request ended. */
  readonly tasks: number;
}

/** On SQLite other decisions wait for a portion: 0.2 s, and 2 s on a busy machine. */
const PORTION = 5_000;

/** No further portion begins after this time: proxies commonly wait a minute for an answer. */
export const STOPPING_LIMIT_MS = 35_000;

/** After `ended`, no task is live that started before the request. Agents may have started others in the meantime. */
export async function stopEverything({
  decisions,
  sharedTime,
  monotonic,
  portion: limit = PORTION,
}: EverythingStopping): Promise<EverythingOutcome> {
  const deadline = monotonic() + STOPPING_LIMIT_MS;
  let tasks = 0;
  await decisions.decide(endAllRequests, { at: await sharedTime.earliest(), reason: 'operator_kill_switch' });
  do {
    const at = await sharedTime.earliest();
    const ended = await decisions.decide(endSomeTasks, { limit, at, reason: 'operator_kill_switch' });
    tasks += ended.tasks;
    if (ended.isLast) return { kind: 'ended', tasks };
  } while (monotonic() < deadline);
  return { kind: 'time_up', tasks };
}
