/** Times as the console shows them: in UTC, as in records, and relative to now. */

import { type Instant, secondsBetween, toMillisecondText } from '../../../../domain/instant.ts';
import { type Html, html } from '../../browser/html.ts';
import { relative } from '../../browser/times.ts';

/** `2026-11-24 09:30:00 UTC` */
export function clock(at: Instant): string {
  const [day = '', time = ''] = toMillisecondText(at).split('T');
  return `${day} ${time.slice(0, '09:30:00'.length)} UTC`;
}

/** `2026-11-24 09:30:00 UTC (3 minutes ago)` */
export function moment(at: Instant, now: Instant): Html {
  return html`<time datetime="${toMillisecondText(at)}"><span class="clock">${clock(at)}</span> <span class="quiet">(${relative('en', secondsBetween(now, at))})</span></time>`;
}
