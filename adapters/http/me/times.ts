/** Times in words. assets/me.js writes them again each second, by the person's own clock. */

import { type Instant, secondsBetween, toMillisecondText } from '../../../domain/instant.ts';
import { type Html, html } from '../browser/html.ts';
import type { Language } from '../browser/language.ts';
import { relative } from '../browser/times.ts';

/**
 * The distance from now, and the time of day with its date unless that is today's. The time is in UTC: only the script knows
 * the time zone of the person.
 */
export function moment(language: Language, at: Instant, now: Instant): Html {
  const isSameDay = toMillisecondText(at).slice(0, DAY_LENGTH) === toMillisecondText(now).slice(0, DAY_LENGTH);
  const clock = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    timeStyle: 'short',
    ...(!isSameDay && { dateStyle: 'medium' }),
  });
  return html`<time datetime="${toMillisecondText(at)}"><span data-distance>${relative(language, secondsBetween(now, at))}</span> <span class="clock">(<span data-clock>${clock.format(at / 1000)} UTC</span>)</span></time>`;
}

/** The distance from now, without the time of day. */
export function distance(language: Language, at: Instant, now: Instant): Html {
  return html`<time datetime="${toMillisecondText(at)}"><span data-distance>${relative(language, secondsBetween(now, at))}</span></time>`;
}

const DAY_LENGTH = '2026-11-23'.length;
