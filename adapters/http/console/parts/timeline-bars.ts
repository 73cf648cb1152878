/** Draws the timeline of a task: a bar for the task and for each token, on one scale of time. */

import { type Instant, secondsBetween } from '../../../../domain/instant.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import type { Timeline, TokenBar } from '../timeline.ts';
import { clock } from './times.ts';

const HEIGHT = 18;
/** Percent: a shorter bar could not be seen. */
const LEAST = 0.5;

/** More bars would hide the rest of the page. The last tokens are the ones that may still work. */
export const MOST_BARS = 40;

export function drawTimeline(timeline: Timeline, end: Instant | undefined, now: Instant): Html {
  const { tokens, task } = timeline;
  const scale = scaleOf(timeline);
  const shown = tokens.slice(-MOST_BARS);
  const mark = end ?? (now < timeline.until ? now : undefined);
  const markLine =
    mark !== undefined &&
    html`<line class="${end === undefined ? 'now' : 'end'}" x1="${scale(mark)}%" x2="${scale(mark)}%" y1="0" y2="${HEIGHT}"/>`;
  const row = (label: Insert, bar: Html, words: string): Html => html`<li>
<span class="label">${label}</span>
<svg class="bars" width="100%" height="${HEIGHT}" role="img" aria-label="${words}">${bar}${markLine}</svg>
<span class="quiet span">${words}</span>
</li>`;
  const hidden = tokens.length - shown.length;
  return html`<ol class="timeline">
${row('Task', rect('task', scale, task.from, task.until), spanWords(task.from, task.until))}
${shown.map((token, nth) => row(labelOf(token, hidden + nth), tokenBar(token, scale, end), tokenWords(token)))}
</ol>`;
}

type Scale = (at: Instant) => string;

/** In percent of the width, with two digits. */
function scaleOf({ from, until }: Timeline): Scale {
  const length = Math.max(1, secondsBetween(from, until));
  return (at) => ((Math.min(Math.max(0, secondsBetween(from, at)), length) / length) * 100).toFixed(2);
}

function rect(style: string, scale: Scale, from: Instant, until: Instant): Html {
  const [x, right] = [Number(scale(from)), Number(scale(until))];
  return html`<rect class="${style}" x="${x.toFixed(2)}%" width="${Math.max(LEAST, right - x).toFixed(2)}%" y="2" height="${HEIGHT - 4}" rx="3"/>`;
}

/** The part after the end of the task has another colour: there the token still works at tool servers that do not introspect. */
function tokenBar({ from, until, revokedAt }: TokenBar, scale: Scale, end: Instant | undefined): Html {
  const over = revokedAt ?? end;
  if (over === undefined || over >= until) return rect('token', scale, from, until);
  return html`${rect('token', scale, from, over)}${rect('after', scale, over, until)}`;
}

function labelOf({ kind }: TokenBar, nth: number): string {
  return kind === 'first' ? 'First token' : `Token ${nth + 1}`;
}

function tokenWords({ from, until, isExact, revokedAt }: TokenBar): string {
  const revoked = revokedAt === undefined ? '' : `, revoked ${clock(revokedAt)}`;
  return `${spanWords(from, until)}${isExact ? '' : ' (by the registration as it is now)'}${revoked}`;
}

function spanWords(from: Instant, until: Instant): string {
  return `${clock(from)} to ${clock(until)}`;
}
