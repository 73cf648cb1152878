/** *Doctor*: the findings of `mandate doctor`, made inside the service after a run of its checks. */

import type { FindingStatus, NamedFinding } from '../../../../application/doctor/examine.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Html, html } from '../../browser/html.ts';
import type { Screen, ShowScreen } from '../context.ts';
import { readFilters, refusedFilters } from '../parts/filters.ts';
import { moment } from '../parts/times.ts';
import { code, count } from '../parts/words.ts';

interface DoctorView {
  readonly findings: readonly NamedFinding[];
  /** When the checks began. */
  readonly at: Instant;
  readonly now: Instant;
}

/** Findings with these need an operator: they come first, and are not folded. */
const OPEN: readonly FindingStatus[] = ['failed', 'warning'];
const FOLDED: readonly FindingStatus[] = ['ok', 'skipped'];

export function renderDoctor({ findings, at, now }: DoctorView): Html {
  const of = (status: FindingStatus) => findings.filter((finding) => finding.status === status).length;
  const [failed, warnings] = [of('failed'), of('warning')];
  const verdict =
    failed > 0
      ? html`<p class="banner fault"><strong>${count(failed, 'check')} failed.</strong> ${warnings > 0 && `${count(warnings, 'warning')}.`}</p>`
      : html`<p class="banner ${warnings > 0 ? 'warn' : 'good'}"><strong>No check failed.</strong> ${warnings > 0 && `${count(warnings, 'warning')}.`}</p>`;
  const sorted = (order: readonly FindingStatus[]) =>
    order.flatMap((status) => findings.filter((finding) => finding.status === status));
  const [open, folded] = [sorted(OPEN), sorted(FOLDED)];
  return html`${verdict}
<p class="quiet">Checked ${moment(at, now)}, by the replica that answered. <a href="${doctorScreen.path}">Check again</a></p>
${open.length > 0 && table('Findings that need you', open)}
${folded.length > 0 && html`<details class="more" id="well"><summary>${count(of('ok'), 'check')} found nothing wrong, ${of('skipped')} skipped</summary>${table('Other findings', folded)}</details>`}`;
}

function table(label: string, findings: readonly NamedFinding[]): Html {
  return html`<div class="scroll" role="group" aria-label="${label}" tabindex="0"><table class="findings">
<thead><tr><th scope="col">Status</th><th scope="col">Check</th><th scope="col">Finding, and what to do</th></tr></thead>
<tbody>${findings.map(row)}</tbody></table></div>`;
}

function row({ check, status, sentence, remedy }: NamedFinding): Html {
  return html`<tr><td><span class="mark ${status}">${status}</span></td><th scope="row">${check}</th>
<td>${withCode(sentence)}${remedy !== undefined && html` <strong>${withCode(remedy)}</strong>`}</td></tr>`;
}

/** Findings mark commands with backticks, as the command line shows them. */
function withCode(text: string): readonly Html[] {
  return text.split('`').map((part, nth) => (nth % 2 === 1 ? code(part) : html`${part}`));
}

const showDoctor: ShowScreen = async ({ examine, now }, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, doctorScreen.path);
  // The checks wait for other servers. They must not use up a permit of other requests.
  request.permit?.release();
  return { body: renderDoctor({ ...(await examine()), now }) };
};

/** Every operator may ask whether the service works. */
export const doctorScreen = {
  path: '/doctor',
  title: 'Doctor',
  route: 'GET /admin/tasks',
  work: 'other',
  inNavigation: true,
  show: showDoctor,
} as const satisfies Screen;
