/** *Record*: a record of a task with its proof, which an auditor can verify without the service. */

import type { ProofOutcome } from '../../../../application/ledger/prove.ts';
import { parseTaskId } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type LedgerRecord, presentRecord } from '../../../../domain/ledger/record.ts';
import type { ShownAct } from '../../../../domain/operators/operator-act.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { presentProof } from '../../message/ledger-answers.ts';
import { parseOrdinal } from '../../message/query.ts';
import { screenPaths, taskPath } from '../addresses.ts';
import type { Screen, ShowScreen } from '../context.ts';
import { actLines, actsOf } from '../parts/acts.ts';
import { notFound, readFilters, refusedFilters } from '../parts/filters.ts';
import { recordsOf } from '../parts/records-of-task.ts';
import { visibleJson } from '../parts/visible-json.ts';
import { code } from '../parts/words.ts';

interface RecordView {
  readonly taskId: string;
  readonly record: LedgerRecord;
  readonly proof: ProofOutcome;
  /** The acts that may explain it. */
  readonly acts: readonly ShownAct[];
  readonly now: Instant;
}

export function renderRecord({ taskId, record, proof, acts, now }: RecordView): Html {
  return html`<p>Record ${record.seq} of <a href="${taskPath(taskId)}">${code(taskId)}</a></p>
${acts.length > 0 && html`<section aria-labelledby="act"><h2 id="act">Who asked for it, and why</h2>${actLines(acts, now)}</section>`}
${detailSection(record.detail)}
<section aria-labelledby="record"><h2 id="record">As it is published</h2>
${json('The record', presentRecord(record))}
</section>
<section aria-labelledby="proof"><h2 id="proof">Proof</h2>
${proofPart(proof)}
</section>`;
}

/** The fields of a form-encoded `detail`. Other details are read as they are. */
function detailSection(detail: string | undefined): Insert {
  if (detail === undefined) return undefined;
  const fields = /^[a-z_]+=/.test(detail) ? [...new URLSearchParams(detail)] : [];
  return html`<section aria-labelledby="detail"><h2 id="detail">Its detail</h2>
${fields.length === 0 ? html`<p>${code(detail)}</p>` : html`<dl class="facts">${fields.map(([name, value]) => html`<dt>${name}</dt><dd>${code(value)}</dd>`)}</dl>`}</section>`;
}

function proofPart(outcome: ProofOutcome): Html {
  switch (outcome.kind) {
    case 'proof':
      return html`<p class="banner good">Sealed by checkpoint ${outcome.proof.checkpoint.checkpointId}. The service has just rebuilt its root from the records.</p>
${json('The proof', presentProof(outcome.proof))}`;
    case 'not_found':
      return html`<p class="banner">Not sealed yet. The next checkpoint seals it.</p>`;
    case 'archived':
      return html`<p class="banner">Its month has been archived: the export that holds checkpoint ${outcome.checkpoint.checkpointId} proves it.</p>`;
    case 'broken':
      return html`<p class="banner bad" role="alert"><strong>The seal is broken.</strong> The records that checkpoint ${outcome.checkpoint.checkpointId} covers no longer rebuild the root that was signed.</p>`;
  }
}

function json(label: string, value: unknown): Html {
  return html`<pre tabindex="0" aria-label="${label}">${visibleJson(value)}</pre>`;
}

const showRecord: ShowScreen = async (context, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screenPaths.delegation);
  const taskId = parseTaskId(String(request.params.taskId));
  const seq = parseOrdinal(String(request.params.seq));
  const found: LedgerRecord | undefined =
    taskId && seq !== undefined ? (await recordsOf(context, taskId))?.find((each) => each.seq === seq) : undefined;
  if (taskId === undefined || found === undefined) {
    const text = 'No record of this task has this number, or it is not among the oldest thousand.';
    return notFound('There is no such record', text, taskId === undefined ? screenPaths.delegation : taskPath(taskId));
  }
  return {
    title: `Record ${found.seq}`,
    body: renderRecord({
      taskId,
      record: found,
      proof: await context.audit.prove(found.seq),
      acts: await actsOf(context, found),
      now: context.now,
    }),
  };
};

export const recordScreen = {
  path: screenPaths.record,
  title: 'Record',
  route: 'GET /audit/records/{seq}/proof',
  work: 'proof',
  inNavigation: false,
  show: showRecord,
} as const satisfies Screen;
