/**
 * A cookie with what the person has just done, for the page that the browser opens next. So no address says it. A forged
 * one could only show its words.
 */

import { ATTRIBUTES, onlyCookie } from '../../browser/cookies.ts';
import type { Notice } from './view.ts';

const NAME = '__Host-mandate-notice';
/** Seconds: the browser opens the page at once. */
const LASTS = 60;

export function noticeCookie(notice: Notice): string {
  return `${NAME}=${notice.kind}.${'tasks' in notice ? notice.tasks : 0}; Max-Age=${LASTS}; ${ATTRIBUTES}`;
}

export const noNoticeCookie = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

export function noticeOf(cookies: string | undefined): Notice | undefined {
  const [, kind, tasks] = /^(stopped|paused|resumed)\.(\d{1,6})$/.exec(onlyCookie(cookies, NAME) ?? '') ?? [];
  if (kind === 'resumed') return { kind };
  return kind === 'stopped' || kind === 'paused' ? { kind, tasks: Number(tasks) } : undefined;
}
