/** A record of a task with its proof: what an auditor can verify without the service. */

import type { ProofOutcome } from '../../../../application/ledger/prove.ts';
import { presentCheckpoint } from '../../../../domain/ledger/checkpoint.ts';
import { type LedgerRecord, presentRecord } from '../../../../domain/ledger/record.ts';
import { type Html, html } from '../../browser/html.ts';
import { taskPath } from '../addresses.ts';
import { code } from '../words.ts';
import { visibleJson } from './visible-json.ts';

export interface RecordView {
  readonly taskId: string;
  readonly record: LedgerRecord;
  readonly proof: ProofOutcome;
}

export function renderRecord({ taskId, record, proof }: RecordView): Html {
  return html`<p>Record ${record.seq} of <a href="${taskPath(taskId)}">${code(taskId)}</a></p>
<section aria-labelledby="record"><h2 id="record">As it is published</h2>
${json('The record', presentRecord(record))}
</section>
<section aria-labelledby="proof"><h2 id="proof">Proof</h2>
${proofPart(proof)}
</section>`;
}

function proofPart(outcome: ProofOutcome): Html {
  switch (outcome.kind) {
    case 'proof': {
      const { seq, checkpoint, leafIndex, auditPath } = outcome.proof;
      return html`<p class="banner good">Sealed by checkpoint ${checkpoint.checkpointId}. The service has just rebuilt its root from the records.</p>
${json('The proof', { seq, checkpoint: presentCheckpoint(checkpoint), leaf_index: leafIndex, audit_path: auditPath })}`;
    }
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
