/** How a page shows an action that waits for the person, and the page of one approval. */

import type { TaskApproval } from '../../../application/ports/approvals.ts';
import { type Html, html } from '../browser/html.ts';
import { named, placeOf } from '../browser/words.ts';
import { COMMITMENT, DECISION } from './approval-routes.ts';
import { approvalAddress, approvalSignIn } from './cookies.ts';
import { form, pageLinks, pageOfPerson, texts } from './frame.ts';
import { agentName } from './task-parts.ts';
import type { Texts } from './texts/texts.ts';
import { moment } from './times.ts';
import type { ApprovalView, Language, MeView } from './view.ts';

type Answerable = Pick<MeView, 'base' | 'formToken' | 'now' | 'mayApprove'>;

/** @returns a whole document */
export function renderApproval(view: ApprovalView, language: Language): string {
  const words = texts[language];
  const { base, approval } = view;
  const { state } = approval;
  const shown = html`${pageLinks([[`${base}/me`, words.back]])}
<section aria-labelledby="approval">
<div class="heading"><h2 id="approval">${state === 'pending' ? words.waiting : words.answered[state]}</h2></div>
<div class="card">${approvalCard(view, approval, words, language)}</div>
</section>`;
  const approvals = { version: versionOf(view, [approval]), shown };
  return pageOfPerson(view, language, { title: words.waiting, heading: words.title, approvals, renewed: undefined });
}

/** The approvals that wait. */
export function waitingApprovals(view: MeView, words: Texts, language: Language) {
  const { waiting, altered } = view;
  const cards = waiting.map((approval) => html`<li class="card">${approvalCard(view, approval, words, language)}</li>`);
  const shown = html`<section aria-labelledby="waiting">
<div class="heading"><h2 id="waiting">${words.waiting}</h2></div>
${altered > 0 && html`<div class="banner warn"><p>${words.alteredQuestions(altered)}</p></div>`}<ul>${cards}</ul>
</section>`;
  return { version: `${versionOf(view, waiting)} ${altered}`, shown: waiting.length + altered > 0 && shown };
}

/** Changes with the choices that the person has. The words of an approval never change. */
function versionOf({ formToken, mayApprove }: Answerable, approvals: readonly TaskApproval[]): string {
  const states = approvals.map(({ approvalId, state }) => `${approvalId}-${state}`);
  return [formToken, mayApprove ? 'fresh' : 'old', ...states].join(' ');
}

/**
 * The words of the tool server are a quotation, so that none of them looks like a word of this page. A browser does not
 * translate them: the person agrees to these words.
 */
function approvalCard(view: Answerable, approval: TaskApproval, words: Texts, language: Language): Html {
  const { approvalId, title, lines, requestedAt, expiresAt, state } = approval;
  const where = named(placeOf(approval.audience));
  return html`<div id="${approvalId}"><h3>${words.asks(agentName(approval, words), where)}</h3>
<p class="quiet">${words.statedBy(where)}</p>
<blockquote class="stated action">
<p><strong>${named(title)}</strong></p>
${lines.length > 0 && html`<dl>${lines.map(({ label, value }) => html`<dt>${named(label)}</dt><dd>${named(value)}</dd>`)}</dl>`}
</blockquote>
<dl><dt>${words.asked}</dt><dd>${moment(language, requestedAt, view.now)}</dd>
${state === 'pending' && html`<dt>${words.answerUntil}</dt><dd>${moment(language, expiresAt, view.now)}</dd>`}</dl>
${state === 'pending' && choices(view, approval, words)}</div>`;
}

function choices(view: Answerable, approval: TaskApproval, words: Texts): Html {
  const { approvalId, title } = approval;
  const about = html`<span class="hidden">: ${named(title)}</span>`;
  // A form cannot lead to the sign-in: the provider's origin is not in the policy.
  const yes = view.mayApprove
    ? answerForm(
        view,
        approval,
        'approve',
        html`<button class="main" id="yes-${approvalId}">${words.yes}${about}</button>`,
      )
    : html`<a class="button main" id="yes-${approvalId}" href="${view.base}${approvalSignIn(approvalId, 'fresh')}">${words.signInForYes}${about}</a>`;
  const no = answerForm(view, approval, 'refuse', html`<button id="no-${approvalId}">${words.no}${about}</button>`);
  return html`<p class="quiet">${words.yesMeans}${!view.mayApprove && ` ${words.signInForYesMeans}`}</p>
<div class="choices">${yes}${no}</div>`;
}

function answerForm(view: Answerable, approval: TaskApproval, decision: 'approve' | 'refuse', button: Html): Html {
  const { approvalId, commitment } = approval;
  const fields = html`<input type="hidden" name="${DECISION}" value="${decision}"><input type="hidden" name="${COMMITMENT}" value="${commitment}">${button}`;
  return form(view, `${approvalAddress(approvalId)}/answer`, fields);
}
