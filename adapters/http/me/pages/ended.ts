/** The page of the ended tasks of a person, the latest end first. */

import type { MyTasksCursor, MyTasksPage } from '../../../../application/me/my-tasks.ts';
import { html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import { readQuery } from '../../message/query.ts';
import { MALFORMED, type MePage, personView, UNREADABLE } from '../context.ts';
import { pageLinks, pageOfPerson, texts } from '../frame.ts';
import { formatAfter, parseAfter } from '../parameters.ts';
import { endedTasks } from '../task-parts.ts';
import type { PersonView } from '../view.ts';

const TASKS_PER_PAGE = 50;

export interface EndedView extends PersonView {
  readonly ended: MyTasksPage;
}

/** The path after the issuer's. */
export function endedAddress(after: MyTasksCursor): string {
  return `${endedPage.path}?after=${formatAfter(after)}`;
}

/** @returns a whole document */
export function renderEnded(view: EndedView, language: Language): string {
  const words = texts[language];
  const { base, ended } = view;
  const renewed = html`${pageLinks([[`${base}/me`, words.back]])}
${endedTasks(view, ended.tasks, words, language)}
${pageLinks([ended.nextAfter && [`${base}${endedAddress(ended.nextAfter)}`, words.moreEnded]])}`;
  return pageOfPerson(view, language, { title: words.endedTasks, heading: words.endedTasks, renewed });
}

export const endedPage = {
  path: '/me/ended',
  async show(context, request) {
    const query = readQuery(request.originalUrl, ['after']);
    const after = query.read('after', parseAfter, UNREADABLE);
    if (query.errors.length > 0) return MALFORMED;
    const ended = await context.surface.endedTasks(context.person, { after, limit: TASKS_PER_PAGE });
    return { document: renderEnded({ ...(await personView(context)), ended }, context.language) };
  },
} as const satisfies MePage;
