/** The ended tasks of a person in pages, the latest end first. */

import type { MyTasksCursor } from '../../../application/me/my-tasks.ts';
import { html } from '../browser/html.ts';
import { pageLinks, pageOfPerson, texts } from './frame.ts';
import { formatAfter } from './me-router.ts';
import { endedTasks } from './task-parts.ts';
import type { EndedView, Language } from './view.ts';

/** The path after the issuer's. */
export function endedAddress(after: MyTasksCursor): string {
  return `/me/ended?after=${formatAfter(after)}`;
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
