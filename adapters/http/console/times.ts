/** Times of the console: in UTC, as records have them, with the distance to now. */

import { type Instant, secondsBetween, toMillisecondText } from '../../../domain/instant.ts';
import { type Html, html } from '../pages/html.ts';
import { relative } from '../pages/times.ts';

/** `2026-11-24 09:30:00 UTC (3 minutes ago)` */
export function moment(at: Instant, now: Instant): Html {
  const text = toMillisecondText(at);
  const [day = '', time = ''] = text.split('T');
  return html`<time datetime="${text}"><span class="clock">${day} ${time.slice(0, '09:30:00'.length)} UTC</span> <span class="quiet">(${relative('en', secondsBetween(now, at))})</span></time>`;
}
