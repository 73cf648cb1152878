/** The approvals of a task, with the words that its person read. */

import { type Approval, isOpen } from '../../../../domain/approvals/approval.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Compared, describeDifference } from '../../../../domain/ledger/compared.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import { moment } from './times.ts';
import { code } from './words.ts';

/** A page has no more approvals than an operator can read. */
export const MOST_APPROVALS = 100;

/** @param approvals newest first; `undefined` where tool servers may ask for none */
export function approvalsSection(approvals: readonly Compared<Approval, unknown>[] | undefined, now: Instant): Insert {
  if (approvals === undefined) return undefined;
  return html`<section aria-labelledby="approvals"><h2 id="approvals">Approvals</h2>
${approvals.length === 0 ? html`<p class="quiet">No tool server has asked for a yes.</p>` : html`<p class="quiet">The words are those of the tool server.${approvals.length === MOST_APPROVALS && ` These are the newest ${MOST_APPROVALS}.`}</p>`}
${approvals.map((compared) => (compared.kind === 'same' ? approvalFacts(compared.row, now) : alteredApproval(compared)))}
</section>
`;
}

function approvalFacts(approval: Approval, now: Instant): Html {
  const { approvalId, title, lines, digest, commitment, requestedAt, decidedAt, closedAt } = approval;
  return html`<dl class="facts" id="${approvalId}">
<dt>Action</dt><dd><blockquote class="stated"><p><strong>${named(title)}</strong></p>${lines.map(({ label, value }) => html`<p>${named(label)}: ${named(value)}</p>`)}</blockquote></dd>
<dt>State</dt><dd>${stateWords(approval, now)}</dd>
<dt>Asked</dt><dd>${moment(requestedAt, now)}</dd>
${decidedAt !== undefined && html`<dt>Answered</dt><dd>${moment(decidedAt, now)}</dd>`}${closedAt !== undefined && html`<dt>Over</dt><dd>${moment(closedAt, now)}</dd>`}
<dt>Id</dt><dd>${code(approvalId)}</dd>
<dt>Digest</dt><dd>${code(digest)}</dd>
<dt>Commitment</dt><dd>${code(commitment)}</dd>
</dl>
`;
}

/** Nothing of the row but its id: the words that the person read are not known. */
function alteredApproval({ row, difference }: Extract<Compared<Approval>, { kind: 'differs' }>): Html {
  return html`<div class="banner bad" id="${row.approvalId}"><p><strong>Not shown.</strong> ${describeDifference(difference)}</p>
<p>Its words, its state and its times are not shown, and it cannot be answered or used. The ledger has its records.</p></div>
`;
}

function stateWords(approval: Approval, now: Instant): Insert {
  const { state, expiresAt } = approval;
  if (!isOpen(approval)) return code(state);
  if (expiresAt <= now) return html`${code(state)}, but its time is up`;
  return html`${code(state)}, until ${moment(expiresAt, now)}`;
}
