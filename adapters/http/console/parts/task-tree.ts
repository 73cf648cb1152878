/** The tree of a task (docs/sub-agents.md): which agent handed which task to which other one. */

import type { TreeTask } from '../../../../application/ports/tasks.ts';
import type { TaskId } from '../../../../domain/identifiers.ts';
import { endReasonOf } from '../../../../domain/tasks/lifetime.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named, placeOf } from '../../browser/words.ts';
import { agentPath, taskPath } from '../addresses.ts';
import { code } from './words.ts';

/** A screen shows so many tasks of a tree. The admin API has all. */
export const MOST_IN_TREE = 100;

export interface ShownTree {
  /** The first task of the tree, then level by level. */
  readonly tasks: readonly TreeTask[];
  readonly hasMore: boolean;
}

/** @returns nothing for a task that is alone in its tree */
export function treeSection(tree: ShownTree | undefined, shown: TaskId): Insert {
  const [root] = tree?.tasks ?? [];
  if (tree === undefined || root === undefined || tree.tasks.length === 1) return undefined;
  const draw = (task: TreeTask): Html => {
    const below = tree.tasks.filter(({ parentTaskId }) => parentTaskId === task.taskId);
    return html`<li>${node(task, task.taskId === shown)}${below.length > 0 && html`<ul class="points">${below.map(draw)}</ul>`}</li>`;
  };
  return html`<section aria-labelledby="tree"><h2 id="tree">Tasks that agents handed to each other</h2>
<p>The end of a task ends all tasks below it.</p>
<ul class="points">${draw(root)}</ul>
${tree.hasMore && html`<p>These are the first ${tree.tasks.length.toLocaleString('en')}${!tree.tasks.some(({ taskId }) => taskId === shown) && ', without this task'}. <code>GET /admin/tasks/${shown}/tree</code> has all.</p>`}
</section>
`;
}

function node({ taskId, agentId, displayName, audience, state, delegationDepth }: TreeTask, isShown: boolean): Html {
  const reason = endReasonOf(state);
  return html`<a href="${agentPath(agentId)}">${named(displayName ?? agentId)}</a> at ${named(placeOf(audience))}: ${
    isShown
      ? html`<strong>${code(taskId)}</strong>, this task`
      : html`<a href="${taskPath(taskId)}">${code(taskId)}</a>`
  }, depth ${delegationDepth}, ${state.kind}${reason !== undefined && html` (${code(reason)})`}`;
}
