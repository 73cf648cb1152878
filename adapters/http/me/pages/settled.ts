/** The part of the first page with what the person answered or missed. */

import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Html, html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import { named } from '../../browser/words.ts';
import { agentName } from '../agent-name.ts';
import { approvalAddress } from '../cookies.ts';
import type { Texts } from '../texts/en.ts';
import { moment } from '../times.ts';
import type { PersonView } from '../view.ts';
import { saidWhy } from './why-not.ts';

export function settledApprovals(
  view: Pick<PersonView, 'base' | 'now'>,
  settled: readonly TaskApproval[],
  words: Texts,
  language: Language,
): Html {
  const lines = settled.map(
    (approval) => html`<li id="settled-${approval.approvalId}">
<p><a href="${view.base}${approvalAddress(approval.approvalId)}">${named(approval.title)}</a> <span class="quiet">${agentName(approval, words)}</span></p>
${firstLines(approval)}<p>${words.answered[outcomeOf(approval)]} <span class="quiet">· ${moment(language, settledAt(approval), view.now)}</span></p>
${whyNot(approval, words)}</li>`,
  );
  return html`<section aria-labelledby="settled">
<div class="heading"><h2 id="settled">${words.settled}</h2></div>
<ul class="history settled">${lines}</ul>
</section>`;
}

const SHOWN_LINES = 3;

/** Titles of a guard are alike for all calls of a tool, so the first lines tell two of them apart. The page of the question has all. */
function firstLines({ lines }: TaskApproval): Html | false {
  if (lines.length === 0) return false;
  const shown = lines
    .slice(0, SHOWN_LINES)
    .map(({ label, value }, index) => html`${index > 0 && ' · '}${named(label)}: ${named(value)}`);
  return html`<p class="quiet">${shown}${lines.length > SHOWN_LINES && ' · …'}</p>
`;
}

function whyNot(approval: TaskApproval, words: Texts): Html | false {
  const said = saidWhy(approval, words);
  return (
    said !== undefined &&
    html`<p class="quiet">${said[0]}: ${said[1]}</p>
`
  );
}

/** What became of a question that does not wait. */
export function outcomeOf({
  state,
  decidedAt,
  wordsChanged,
}: Pick<TaskApproval, 'state' | 'decidedAt' | 'wordsChanged'>): keyof Texts['answered'] {
  if (wordsChanged) return decidedAt === undefined ? 'otherWords' : 'otherWordsAfterYes';
  if (state === 'pending' || state === 'expired') return decidedAt === undefined ? 'expired' : 'unused';
  return state === 'withdrawn' && decidedAt !== undefined ? 'withdrawnAfterYes' : state;
}

/** When the person answered, or until when an answer was possible. */
function settledAt({ state, decidedAt, closedAt, expiresAt }: TaskApproval): Instant {
  return decidedAt ?? (state === 'withdrawn' ? closedAt : undefined) ?? expiresAt;
}
