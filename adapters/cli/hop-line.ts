/** The line of a report about one hand-over between agents. */

import type { BundleHop } from '../../domain/log/bundle-hops.ts';

/**
 * `planner (task_A) to writer (task_B): offered 2026-11-24 16:23:13, taken up 16:23:14 (offer_X)`. A part that the bundle does not have is
 * named as missing.
 */
export function describeHop({ offer_id, child_agent_id, offered, taken }: BundleHop): string {
  const parentTask = offered?.task_id ?? taken?.parent_task_id;
  const to = taken === null ? child_agent_id : `${taken.agent_id} (${taken.task_id})`;
  const [date, time] = timeOf(offered?.ts);
  const [takenDate, takenTime] = timeOf(taken?.ts);
  const made = offered === null ? 'offer not in the bundle' : `offered ${date} ${time}`;
  const used = taken === null ? 'not taken up' : `taken up ${takenDate === date ? '' : `${takenDate} `}${takenTime}`;
  return `${offered?.agent_id ?? 'an agent'} (${parentTask}) to ${to}: ${made}, ${used} (${offer_id})`;
}

/** The date and the time, in seconds, of an ISO 8601 text. */
function timeOf(ts = ''): readonly [string, string] {
  const [date = '', time = ''] = ts.split('T');
  return [date, time.slice(0, '16:23:13'.length)];
}
