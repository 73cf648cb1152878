/** The page of one task, to which the question of a tool server leads: what it is for, what it may, and its stop. */

import type { MyTask, MyTaskTree } from '../../../../application/me/my-tasks.ts';
import { parseTaskId, type TaskId } from '../../../../domain/identifiers.ts';
import { html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import { fillPath } from '../../browser/paths.ts';
import { agentName } from '../agent-name.ts';
import { type MePage, personView, unknownTo } from '../context.ts';
import { pageLinks, pageOfPerson, texts } from '../frame.ts';
import { endedTasks, liveTask } from '../task-parts.ts';
import { MOST_IN_TREE, TASK_PATH, taskTree } from '../task-tree.ts';
import type { PersonView } from '../view.ts';

/** A task in any state. */
export interface TaskView extends PersonView {
  readonly task: MyTask;
  /** The tasks that agents handed to each other, with this one. `undefined` without `Service:Delegation:Enabled`. */
  readonly tree?: MyTaskTree | undefined;
}

/** The path after the issuer's. */
export function taskAddress(taskId: TaskId): string {
  return fillPath(taskPage.path, { taskId });
}

/** @returns a whole document */
export function renderTask(view: TaskView, language: Language): string {
  const words = texts[language];
  const { base, task, tree } = view;
  const isLive = task.state === 'live';
  const shown = isLive
    ? html`<div class="card">${liveTask(view, task, words, language)}</div>`
    : endedTasks(view, [task], words, language);
  const renewed = html`${pageLinks([[`${base}/me`, words.back]])}
<section aria-labelledby="task">
<div class="heading"><h2 id="task">${isLive ? words.live : words.history}</h2></div>
${shown}
</section>${
    tree &&
    html`
${taskTree(view, tree, task.taskId, words)}`
  }`;
  return pageOfPerson(view, language, { title: words.title, heading: agentName(task, words), renewed });
}

export const taskPage = {
  path: TASK_PATH,
  isForBrowsersOnly: true,
  async show(context, { params }) {
    const taskId = parseTaskId(String(params.taskId));
    const task = taskId && (await context.surface.tasksById(context.person, [taskId])).get(taskId);
    if (task === undefined) return unknownTo(context, 'unknown_task');
    const { surface, person, language } = context;
    const tree = await surface.delegation?.tree(person, { taskId: task.taskId, limit: MOST_IN_TREE });
    return { document: renderTask({ ...(await personView(context)), task, tree }, language) };
  },
} as const satisfies MePage;
