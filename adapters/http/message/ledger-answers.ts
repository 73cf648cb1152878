/** Pages of records and proofs, as `/audit` and `/me` answer them. */

import type { Request, Response } from 'express';
import type { InclusionProof, ProofOutcome } from '../../../application/ledger/prove.ts';
import type { LedgerAnswer } from '../../../application/ledger/query.ts';
import { type Log, traceFields } from '../../../application/ports/telemetry.ts';
import { toShortText } from '../../../domain/instant.ts';
import { presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { presentRecord } from '../../../domain/ledger/record.ts';
import { answerProblem } from './problem-details.ts';
import { answerForeignCursor } from './query.ts';

export function answerRecords(response: Response, answer: LedgerAnswer): void {
  if (answer.kind === 'foreign_cursor') {
    answerForeignCursor(response);
    return;
  }
  response.json({
    records: answer.records.map(presentRecord),
    next_cursor: answer.nextCursor ?? null,
    archived_before: answer.archivedBefore === undefined ? null : toShortText(answer.archivedBefore),
  });
}

export function answerProof(
  log: Log,
  request: Request<{ seq: string }>,
  response: Response,
  outcome: ProofOutcome,
  more: Readonly<Record<string, unknown>> = {},
): void {
  switch (outcome.kind) {
    case 'not_found':
      answerProblem(response, {
        status: 404,
        detail: 'No sealed record has this number: there is none, or it is not sealed yet.',
        reason: 'no_sealed_record',
      });
      return;
    case 'archived': {
      const { checkpointId } = outcome.checkpoint;
      answerProblem(response, {
        status: 410,
        detail: `The record has left the ledger with its month: the export that holds checkpoint ${checkpointId} proves it.`,
        checkpoint: checkpointId,
        reason: 'record_archived',
      });
      return;
    }
    case 'broken': {
      const { checkpointId } = outcome.checkpoint;
      const fault = new Error('The seal is broken.');
      log.error('the records do not produce the root that was signed', fault, {
        ...traceFields(request.trace),
        checkpoint: checkpointId,
      });
      answerProblem(response, {
        status: 500,
        detail: `The records that checkpoint ${checkpointId} covers no longer rebuild the root that was signed.`,
        checkpoint: checkpointId,
        reason: 'seal_broken',
      });
      return;
    }
    case 'proof':
      response.json({ ...presentProof(outcome.proof), ...more });
  }
}

export function presentProof({ seq, checkpoint, leafIndex, auditPath }: InclusionProof): Record<string, unknown> {
  return { seq, checkpoint: presentCheckpoint(checkpoint), leaf_index: leafIndex, audit_path: auditPath };
}
