/** The form with which auditors verify the records of a screen in their browser. verify.js verifies, and reads these feeds. */

import type { BlockMemory, ProofOutcome } from '../../../../application/ledger/prove.ts';
import { presentCheckpoint } from '../../../../domain/ledger/checkpoint.ts';
import { answerCheckpoints } from '../../admin/audit-router.ts';
import { type Html, html } from '../../browser/html.ts';
import { presentProof } from '../../message/ledger-answers.ts';
import { answerInvalid } from '../../message/problem-details.ts';
import { parseOrdinal, readQuery } from '../../message/query.ts';
import type { AnswerScript, ScreenContext, ScreenFeed } from '../context.ts';

/** @param hasRecords whether the screen shows records, as `renderRecords` does */
export function renderVerification({ hasRecords }: { readonly hasRecords: boolean }): Html {
  return html`<section class="verification" aria-labelledby="verification-title">
<details id="verification" data-proofs="${proofs.path}" data-chain="${chain.path}">
<summary class="opener"><h2 id="verification-title">Verify in this browser</h2></summary>
<p>The keys are yours: paste a copy that you kept, not one that this service has just sent you. They stay in this browser.</p>
<noscript><p class="banner warn">This needs JavaScript. Without it use <code>mandate audit-verify</code>.</p></noscript>
<form id="verification-form" hidden>
<p class="field"><label for="keys">Keys that you trust, as a key set (JWKS)</label>
<textarea id="keys" name="keys" rows="4" required spellcheck="false" autocomplete="off" placeholder='{"keys": [ … ]}'></textarea></p>
<p class="field"><label for="marks">Marks that you kept, <code>checkpoint_id:root</code> (optional)</label>
<input id="marks" name="marks" spellcheck="false" autocomplete="off"></p>
<div class="choices">
${hasRecords && html`<button name="what" value="records">Verify the records on this page</button>`}
<button name="what" value="chain">Verify all checkpoints</button>
</div>
</form>
<div id="verification-result" role="status"></div>
</details>
</section>`;
}

/** A page of records has more only if its `limit` says so: the script then asks again. */
const MOST_PROOFS = 100;
const SEQS_SENTENCE = `Must be 1 to ${MOST_PROOFS} numbers of records, with commas between them.`;

/** Proves many records in one request: one request for each would exceed the rate limit. */
const answerProofs: AnswerScript = async ({ audit }, request, response) => {
  const query = readQuery(request.originalUrl, ['seqs']);
  const seqs = query.read('seqs', parseSeqs, SEQS_SENTENCE);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  if (seqs === undefined) return answerInvalid(response, [{ field: 'seqs', sentence: SEQS_SENTENCE }]);
  const memory: BlockMemory = {};
  const found: unknown[] = [];
  for (const seq of seqs) {
    // A browser that has left needs no more proofs.
    if (response.destroyed) return;
    found.push({ seq, ...presentOutcome(audit, await audit.prove(seq, memory)) });
  }
  response.json({ proofs: found });
};

function parseSeqs(text: string): readonly number[] | undefined {
  const seqs = text.split(',').map(parseOrdinal);
  return seqs.length <= MOST_PROOFS && seqs.every((seq) => seq !== undefined) ? seqs : undefined;
}

/** `checkpoint` is that of an archived record, or whose records no longer rebuild the signed root. */
function presentOutcome({ log }: ScreenContext['audit'], outcome: ProofOutcome): Readonly<Record<string, unknown>> {
  switch (outcome.kind) {
    case 'proof':
      return { proof: presentProof(outcome.proof) };
    case 'not_found':
      return { reason: 'no_sealed_record' };
    case 'archived':
      return { reason: 'record_archived', checkpoint: presentCheckpoint(outcome.checkpoint) };
    case 'broken': {
      const { checkpointId: checkpoint } = outcome.checkpoint;
      log.error('the records do not produce the root that was signed', new Error('The seal is broken.'), {
        checkpoint,
      });
      return { reason: 'seal_broken', checkpoint: presentCheckpoint(outcome.checkpoint) };
    }
  }
}

/** A proof computes on the only thread. */
export const proofs: ScreenFeed = {
  path: '/ledger/proofs',
  route: 'GET /audit/records/{seq}/proof',
  work: 'proof',
  renews: true,
  answer: answerProofs,
};

export const chain: ScreenFeed = {
  path: '/ledger/chain',
  route: 'GET /audit/checkpoints',
  work: 'other',
  renews: true,
  answer: ({ audit }, request, response) => answerCheckpoints(audit, request, response),
};
