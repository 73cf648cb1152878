/** The line that a person may write with a no: its field on the page of the question, and how pages show it afterwards. */

import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { MAX_SAYS } from '../../../../domain/approvals/person-says.ts';
import type { ApprovalId } from '../../../../domain/identifiers.ts';
import { type Html, html } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import { REASON } from '../parameters.ts';
import type { Texts } from '../texts/en.ts';

/** What the field holds. */
export interface WhyNot {
  readonly typed: string;
  /** Whether the typed line broke the rules, so that nothing was decided. */
  readonly isRefused: boolean;
}

/** The form that sends the no. The field stands before both buttons, so it names its form. */
export function refusalForm(approvalId: ApprovalId): string {
  return `refuse-${approvalId}`;
}

export function whyNotField(approvalId: ApprovalId, { typed, isRefused }: WhyNot, words: Texts): Html {
  const [field, means, problem] = [`why-${approvalId}`, `why-means-${approvalId}`, `why-problem-${approvalId}`];
  const described = isRefused ? `${problem} ${means}` : means;
  return html`<p class="why"><label for="${field}">${words.whyNot}</label>
<input type="text" id="${field}" name="${REASON}" form="${refusalForm(approvalId)}" value="${typed}" maxlength="${MAX_SAYS}" autocomplete="off" aria-describedby="${described}"${isRefused && html` aria-invalid="true" autofocus`}>
${isRefused && html`<strong id="${problem}">${words.whyNotRefused(MAX_SAYS)}</strong> `}<span class="quiet" id="${means}">${words.whyNotMeans}</span></p>
`;
}

/** What the person wrote with the no. */
export function saidWhy(
  { says }: Pick<TaskApproval, 'says'>,
  words: Texts,
): readonly [label: string, line: Html] | undefined {
  return says && [words.youWrote, named(says.text)];
}
