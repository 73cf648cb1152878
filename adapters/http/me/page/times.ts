/** Times and lengths of time in the language of the page. assets/me.js repeats this with the person's own clock. */

import { type Instant, secondsBetween, toMillisecondText } from '../../../../domain/instant.ts';
import { type Html, html } from '../../pages/html.ts';
import type { Language } from './view.ts';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** In the largest unit of which the length has two or exactly one, and in whole ones: `90 minutes`, `2 hours`. */
function inUnits(seconds: number): { readonly amount: number; readonly unit: Intl.RelativeTimeFormatUnitSingular } {
  const length = Math.abs(seconds);
  const [unit, size] = UNITS.find(([, size]) => length === size || length >= 2 * size) ?? ['second', 1];
  return { amount: Math.trunc(seconds / size), unit };
}

/** @param seconds negative for the past */
export function relative(language: Language, seconds: number): string {
  const { amount, unit } = inUnits(seconds);
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(amount, unit);
}

export function duration(language: Language, seconds: number): string {
  const { amount, unit } = inUnits(seconds);
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount);
}

/** Distance and time of day, with the date if it is another one. In UTC: only the script knows the person's time zone. */
export function moment(language: Language, at: Instant, now: Instant): Html {
  const isSameDay = toMillisecondText(at).slice(0, DAY_LENGTH) === toMillisecondText(now).slice(0, DAY_LENGTH);
  const clock = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    timeStyle: 'short',
    ...(!isSameDay && { dateStyle: 'medium' }),
  });
  return html`<time datetime="${toMillisecondText(at)}"><span data-distance>${relative(language, secondsBetween(now, at))}</span> <span class="clock">(<span data-clock>${clock.format(at / 1000)} UTC</span>)</span></time>`;
}

const DAY_LENGTH = '2026-11-23'.length;
