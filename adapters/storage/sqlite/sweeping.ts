/** Sweeping on SQLite: each call is one synchronous function, run between BEGIN IMMEDIATE and COMMIT. */

import type { Sweeping } from '../../../application/ports/sweeping.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';
import { expireTasks } from './ending.ts';

const findGone = `select task_id from tasks ended where ended_at <= ?
    and not exists (select 1 from tasks child where child.parent_task_id = ended.task_id)
  order by ended_at limit ?`;

/** The grants first: they refer to their task. */
const deletions = ['task_grants', 'tasks'].map(
  (table) => `delete from ${table} where task_id in (select value from json_each(?))`,
);

const forgotten = [
  `delete from spent_assertions where (agent_id, jti) in (
    select agent_id, jti from spent_assertions where forget_at <= ? order by forget_at limit ?)`,
  `delete from revoked_tokens where jti in (
    select jti from revoked_tokens where forget_at <= ? order by forget_at limit ?)`,
  `delete from accepted_signals where (receiver, issuer, jti) in (
    select receiver, issuer, jti from accepted_signals where forget_at <= ? order by forget_at limit ?)`,
  `delete from logouts where (kind, name) in (
    select kind, name from logouts where forget_at <= ? order by forget_at limit ?)`,
];

export function sqliteSweeping({ decide }: Connections): Sweeping {
  return {
    expire: ({ overBy, at }, limit) => decide((run) => expireTasks(run, overBy, at, limit)),

    deleteEnded: (endedBy, limit) =>
      decide((run) => {
        const { rows } = run<{ task_id: TaskId }>(findGone, [bindInstant(endedBy), limit]);
        const gone = JSON.stringify(rows.map((row) => row.task_id));
        for (const deletion of deletions) run(deletion, [gone]);
        return rows.length;
      }),

    forget: (until, limit) =>
      decide((run) => {
        const values = [bindInstant(until), limit];
        return forgotten.reduce((count, deletion) => count + run(deletion, values).count, 0);
      }),
  };
}
