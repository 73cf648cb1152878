/**
 * Every 200 of a refresh is counted: each task's first `token.refreshed` and its summary count together as many as were
 * answered, and at most as many more as were not answered. Every task is over by now, so every summary is written.
 */

import { isUnknown } from '../load/kept.ts';
import { type Evidence, grouped, type Losses } from './evidence.ts';

export function renewals({ kept, lines }: Evidence): Losses {
  const requests = kept.filter(({ act }) => act === 'refresh');
  const recordsOf = grouped(
    lines.filter(({ event }) => event === 'token.refreshed'),
    ({ task_id }) => task_id,
  );
  const requestsOf = grouped(requests, ({ task }) => task);
  const losses: string[] = [];
  for (const task of new Set(requests.map(({ task }) => task))) {
    const counted = recordsOf(task).reduce((sum, { count = 1 }) => sum + count, 0);
    const answered = requestsOf(task).filter(({ status }) => status === 200).length;
    const unknown = requestsOf(task).filter(isUnknown).length;
    if (counted < answered || counted > answered + unknown) {
      losses.push(
        `the task ${task} has ${counted} renewals in the ledger; ${answered} were answered and ${unknown} were not`,
      );
    }
    const firsts = recordsOf(task).filter(({ jti }) => jti !== null);
    const [first] = firsts;
    const isAnswered = requestsOf(task).some(({ jti }) => jti !== undefined && jti === first?.jti);
    if (firsts.length > 1 || (first !== undefined && !isAnswered && unknown === 0)) {
      losses.push(`the first renewal of the task ${task} is recorded ${firsts.length} times, or as nobody's`);
    }
  }
  const asked = new Set(requests.map(({ task }) => task));
  for (const { event, task_id: task } of lines) {
    if (event === 'token.refreshed' && !asked.has(task ?? undefined)) {
      losses.push(`the task ${task} is recorded as renewed, and nobody asked for that`);
    }
  }
  return losses;
}
