/** How pages show the tasks that agents handed to each other: each below the one that it came from, with its own stop. */

import type { MyTask, MyTaskTree } from '../../../application/me/my-tasks.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import { fillPath } from '../browser/paths.ts';
import { named, placeOf } from '../browser/words.ts';
import { agentName } from './agent-name.ts';
import { form } from './frame.ts';
import { STOP_TASK_PATH } from './task-parts.ts';
import type { Texts } from './texts/en.ts';
import type { PersonView } from './view.ts';

export const TASK_PATH = '/me/tasks/:taskId';
/** The most tasks of a tree that a page shows. */
export const MOST_IN_TREE = 200;

type TreeTask = MyTaskTree['tasks'][number];

/** Where a page shows one task of a tree without the others. */
export function treeLink({ base, handsOver }: PersonView, task: MyTask, words: Texts): Insert {
  if (!handsOver || (task.parentTaskId === undefined && task.liveBelow === 0)) return undefined;
  const address = `${base}${fillPath(TASK_PATH, { taskId: task.taskId })}#tree`;
  return html`<dt>${words.delegation.handedOver}</dt><dd><a href="${address}">${words.delegation.showTree}</a></dd>
`;
}

/** The tasks that another one was handed to. @param items of a list */
export function tasksBelow(items: readonly Html[], words: Texts): Insert {
  if (items.length === 0) return undefined;
  return html`<p class="quiet handed">${words.delegation.below}</p>
<ul class="below">${items}</ul>`;
}

/** The whole tree of a task. Nothing for a task that is alone in it. */
export function taskTree(view: PersonView, tree: MyTaskTree, shown: TaskId, words: Texts): Insert {
  const [root] = tree.tasks;
  if (root === undefined || tree.tasks.length === 1) return undefined;
  const { delegation } = words;
  const below = (taskId: TaskId) => tree.tasks.filter(({ parentTaskId }) => parentTaskId === taskId);
  const draw = (task: TreeTask): Html => html`<li class="node">${treeNode(view, task, task.taskId === shown, words)}
${tasksBelow(below(task.taskId).map(draw), words)}</li>`;
  return html`<section aria-labelledby="tree">
<div class="heading"><h2 id="tree">${delegation.tree}</h2></div>
<p class="quiet">${delegation.treeMeans}</p>
${tree.areMore && html`<p class="quiet">${delegation.moreInTree(tree.tasks.length)}</p>`}
<div class="card"><ul>${draw(root)}</ul></div>
</section>`;
}

/** The task of the page has its stop above. */
function treeNode(view: PersonView, task: TreeTask, isShown: boolean, words: Texts): Html {
  const { stop, stopWhat, delegation } = words;
  const [name, where] = [agentName(task, words), named(placeOf(task.audience))];
  const isLive = task.state.kind === 'live';
  const notes = [...(isLive ? [] : [delegation.isOver]), ...(isShown ? [delegation.thisTask] : [])];
  const button = html`<button class="stop" id="stop-${task.taskId}">${stop}<span class="hidden">: ${stopWhat(name, where)}</span></button>`;
  return html`<p><strong>${name}</strong> <span class="quiet">${where}${notes.map((note) => html` · ${note}`)}</span></p>
${isLive && !isShown && form(view, fillPath(STOP_TASK_PATH, { taskId: task.taskId }), button)}`;
}
