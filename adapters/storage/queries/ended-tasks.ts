/**
 * The commands of the effects `end_tasks` and `delete_tasks` (application/decisions/effect.ts), each for many tasks. On Postgres
 * one statement ends few tasks (`../postgres/effects.ts`).
 */

import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { EndReason } from '../../../domain/tasks/lifetime.ts';
import type { Dialect } from '../dialect.ts';
import { IS_OPEN } from '../rows/approval-row.ts';
import { type Table, tables, tablesOf } from '../tables.ts';
import type { Command } from './query.ts';

export interface GivenTasks {
  /** A JSON array of their ids (`given`). */
  readonly taskIds: string;
}

interface EndOfTasks extends GivenTasks {
  readonly at: Instant;
  readonly reason: EndReason;
}

export function given(taskIds: readonly TaskId[]): string {
  return JSON.stringify(taskIds);
}

const GIVEN = ({ among, texts }: Dialect) => `where task_id ${among(texts(':task_ids'))}`;

function onEnd(name: string, change: string, more = ''): Command<EndOfTasks> {
  return {
    name,
    text: (dialect) => `update ${change} ${GIVEN(dialect)}${more}`,
    values: ({ taskIds, at, reason }, { instant }) => ({ task_ids: taskIds, at: instant(at), reason }),
  };
}

export const revokeTasks = onEnd('revoke_tasks', "tasks set state = 'revoked', ended_at = :at, end_reason = :reason");
export const expireTasks = onEnd('expire_tasks', "tasks set state = 'expired', ended_at = expires_at");
export const revokeGrants = onEnd('revoke_grants', 'task_grants set revoked_at = :at');
export const withdrawApprovals = {
  ...onEnd('withdraw_approvals', "approvals set state = 'withdrawn', closed_at = :at", ` and ${IS_OPEN}`),
  holdsWords: true,
};

/** Selects the rows of a table that belong to the given tasks. */
function ofGiven({ of }: Table, dialect: Dialect): string {
  const parent = Object.values<Table>(tables).find(({ name }) => name === of);
  if (parent === undefined || parent === tables.tasks) return GIVEN(dialect);
  const key = parent.key.join(', ');
  return `where ${key} ${dialect.among(`select ${key} from ${parent.name} ${ofGiven(parent, dialect)}`)}`;
}

/** The deletion of tasks: of the rows of all tables that belong to them, and of the tasks last, to which foreign keys refer. */
export const deletionsOfTasks = [...tablesOf('tasks'), tables.tasks as Table].map((table) => ({
  name: `delete_${table.name}`,
  text: (dialect: Dialect) => `delete from ${table.name} ${ofGiven(table, dialect)}`,
  values: ({ taskIds }: GivenTasks) => ({ task_ids: taskIds }),
  holdsWords: table.holdsWords === true,
}));
