/** The tasks of one tree, level by level: those that agents handed to each other, from one task of a person. */

import type { TaskTreeQuestion, TreeTask } from '../../../application/ports/tasks.ts';
import { stateAt } from '../../../domain/tasks/lifetime.ts';
import { type TaskRow, toTaskState } from '../rows/task-row.ts';
import type { Query } from './query.ts';

const COLUMNS = [
  'task_id',
  'parent_task_id',
  'agent_id',
  'audience',
  'delegation_depth',
  'expires_at',
  'state',
  'ended_at',
  'end_reason',
] as const satisfies readonly (keyof TaskRow)[];

interface TreeRow extends Pick<TaskRow, (typeof COLUMNS)[number]> {
  readonly display_name: string | null;
}

/**
 * Goes up to the first task, then down. `union` ends the way up at a row that was altered to be its own parent: it has no tree.
 * Each task of the tree is looked up by key, and only those of the page are read.
 */
export const taskTree: Query<TaskTreeQuestion, readonly TreeTask[]> = {
  name: 'task_tree',
  plan: 'by_index',
  text: ({ lookUp }) => `with recursive above (task_id, parent_task_id, delegation_depth) as (
      select task_id, parent_task_id, delegation_depth from tasks where task_id = :task_id
      union
      select t.task_id, t.parent_task_id, t.delegation_depth
        from above ${lookUp('tasks', 't', 't.task_id = above.parent_task_id')}
    ), tree (task_id, delegation_depth) as (
      select task_id, delegation_depth from above where parent_task_id is null
      union all
      select t.task_id, t.delegation_depth from tree ${lookUp('tasks', 't', 't.parent_task_id = tree.task_id')}
    ), page as (
      select task_id, delegation_depth from tree where (delegation_depth, task_id) > (:after_depth, :after_task)
        order by delegation_depth, task_id limit :limit
    )
    select ${COLUMNS.map((column) => `t.${column}`).join(', ')},
        (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name
      from page ${lookUp('tasks', 't', 't.task_id = page.task_id')}
      order by t.delegation_depth, t.task_id`,
  // Every depth is at least 1.
  values: ({ taskId, after, limit }) => ({
    task_id: taskId,
    after_depth: after?.delegationDepth ?? 0,
    after_task: after?.taskId ?? '',
    limit,
  }),
  read: (rows: readonly TreeRow[], { now }) =>
    rows.map((row) => {
      const expiresAt = row.expires_at;
      return {
        taskId: row.task_id,
        parentTaskId: row.parent_task_id ?? undefined,
        agentId: row.agent_id,
        displayName: row.display_name ?? undefined,
        audience: row.audience,
        delegationDepth: row.delegation_depth,
        expiresAt,
        state: stateAt(toTaskState(row), { expiresAt }, now),
      };
    }),
};
