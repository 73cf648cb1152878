/** The approvals of a task, with the words that its person read. */

import { type Approval, isOpen, isOver, WORDS_CHANGED } from '../../../../domain/approvals/approval.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Compared, describeDifference } from '../../../../domain/ledger/compared.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import type { ApprovalsOfTask } from '../context.ts';
import { moment } from './times.ts';
import { code } from './words.ts';

/** A page has no more approvals than an operator can read. */
export const MOST_APPROVALS = 100;

/** @param approvals `undefined` where tool servers may ask for none */
export function approvalsSection(approvals: ApprovalsOfTask | undefined, now: Instant): Insert {
  if (approvals === undefined) return undefined;
  const { newest, latest } = approvals;
  return html`<section aria-labelledby="approvals"><h2 id="approvals">Approvals</h2>
${newest.length === 0 ? html`<p class="quiet">No tool server has asked for a yes.</p>` : html`<p class="quiet">The words are those of the tool server.${newest.length === MOST_APPROVALS && ` These are the newest ${MOST_APPROVALS}.`}</p>`}
${newest.map((compared) => (compared.kind === 'same' ? approvalFacts(compared.row, { now, latest }) : alteredApproval(compared)))}
</section>
`;
}

interface Times {
  readonly now: Instant;
  /** By the later of the shared clocks. */
  readonly latest: Instant;
}

function approvalFacts(approval: Approval, times: Times): Html {
  const { now } = times;
  const { approvalId, title, lines, digest, commitment, requestedAt, decidedAt, closedAt, says } = approval;
  return html`<div class="approval" id="${approvalId}"><dl class="facts">
<dt>Action</dt><dd><blockquote class="stated"><p><strong>${named(title)}</strong></p>${lines.map(({ label, value }) => html`<p>${named(label)}: ${named(value)}</p>`)}</blockquote></dd>
<dt>State</dt><dd>${approvalState(approval, times)}</dd>
${
  says &&
  html`<dt>Why not</dt><dd><blockquote class="stated"><p>${named(says.text)}</p></blockquote>The person's words.</dd>
`
}<dt>Asked</dt><dd>${moment(requestedAt, now)}</dd>
${decidedAt !== undefined && html`<dt>Answered</dt><dd>${moment(decidedAt, now)}</dd>`}${closedAt !== undefined && html`<dt>Over</dt><dd>${moment(closedAt, now)}</dd>`}
<dt>Id</dt><dd>${code(approvalId)}</dd>
<dt>Digest</dt><dd>${code(digest)}</dd>
<dt>Commitment</dt><dd>${code(commitment)}</dd>
</dl></div>
`;
}

/** Nothing of the row but its id: the words that the person read are not known. */
function alteredApproval({ row, difference }: Extract<Compared<Approval>, { kind: 'differs' }>): Html {
  return html`<div class="approval" id="${row.approvalId}"><div class="banner bad"><p><strong>Not shown.</strong> ${describeDifference(difference)}</p>
<p>Its words, its state and its times are not shown, and it cannot be answered or used. The ledger has its records.</p></div></div>
`;
}

/** The state as it is stored, whether its time is up, and why it was withdrawn from a task that goes on. */
export function approvalState(approval: Approval, { now, latest }: Times): Insert {
  const { state, expiresAt, wordsChanged } = approval;
  if (wordsChanged) return html`${code(state)}, ${code(WORDS_CHANGED)}`;
  if (!isOpen(approval)) return code(state);
  if (isOver(approval, latest)) return html`${code(state)}, but its time is up`;
  return html`${code(state)}, until ${moment(expiresAt, now)}`;
}
