/** What the scripts of the console read: *Now*, new records, and the proofs and checkpoints for the verification in the browser. */

import type { BlockMemory, ProofOutcome } from '../../../application/ledger/prove.ts';
import { presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { answerCheckpoints } from '../admin/audit-router.ts';
import { holderOf, streamRecords } from '../admin/audit-stream.ts';
import { answerInvalid } from '../message/problem-details.ts';
import { parseOrdinal, readQuery } from '../message/query.ts';
import type { Asked, Feed } from './asked.ts';
import { renewNow } from './screens/now-route.ts';
import type { FeedName } from './screens.ts';

/** A page of records has more only if its `limit` says so: the script then asks again. */
const MOST_PROOFS = 100;
const SEQS_SENTENCE = `Must be 1 to ${MOST_PROOFS} numbers of records, with commas between them.`;

const stream: Feed = async ({ audit, holder, lasts }, request, response) => {
  const { streaming } = audit;
  if (streaming === undefined) throw new Error('the console runs without the stream of records');
  await streamRecords(streaming, request, response, holderOf('console', holder), lasts);
};

/** Many in one request: one request for each would use up what the rate limit grants. */
const proofs: Feed = async ({ audit }, request, response) => {
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

const chain: Feed = ({ audit }, request, response) => answerCheckpoints(audit, request, response);

export const feedAnswers: Readonly<Record<FeedName, Feed>> = { now: renewNow, stream, proofs, chain };

function parseSeqs(text: string): readonly number[] | undefined {
  const seqs = text.split(',').map(parseOrdinal);
  return seqs.length <= MOST_PROOFS && seqs.every((seq) => seq !== undefined) ? seqs : undefined;
}

/** `checkpoint` is that of an archived record, or whose records no longer rebuild the signed root. */
function presentOutcome({ log }: Asked['audit'], outcome: ProofOutcome): Readonly<Record<string, unknown>> {
  switch (outcome.kind) {
    case 'proof': {
      const { seq, checkpoint, leafIndex, auditPath } = outcome.proof;
      return {
        proof: { seq, checkpoint: presentCheckpoint(checkpoint), leaf_index: leafIndex, audit_path: auditPath },
      };
    }
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
