/** Whether the ledger is sealed and copied as it comes (specification "Ledger and seal", "Sink"). */

import { formatDuration } from '../../domain/duration.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { OutboxCondition, SealingCondition } from '../ports/storage-condition.ts';
import { type Finding, ok, skipped, warning } from './finding.ts';
import { listed } from './listed.ts';

/** Intervals that a record may wait: its own, one that was missed, and one to be late. */
const PATIENCE = 3;
/** Many times what a drain takes: the sink does not keep up. */
const MANY_WAITING = 10_000;

/** @param interval `Service:Audit:Checkpoint:Interval`, in seconds */
export function judgeSealing(
  { oldestUnsealedAt, unsealed, newestCheckpoint }: SealingCondition,
  now: Instant,
  interval: number,
): Finding {
  const newest =
    newestCheckpoint === undefined
      ? 'there is no checkpoint yet'
      : `checkpoint ${newestCheckpoint.checkpointId} was closed ${ago(newestCheckpoint.closedAt, now)}`;
  if (oldestUnsealedAt === undefined) return ok(`Every record is sealed; ${newest}.`);
  const waiting = `${unsealed} ${unsealed === 1 ? 'record is' : 'records are'} not sealed`;
  if (secondsBetween(oldestUnsealedAt, now) <= PATIENCE * interval) return ok(`${waiting} yet; ${newest}.`);
  return warning(
    `${waiting}, the oldest from ${ago(oldestUnsealedAt, now)}; ${newest}.`,
    'See that a replica runs, and in its log what keeps it from sealing. Nothing is lost, but what is not sealed cannot be verified.',
  );
}

/** A checkpoint verifies only while its key is published. */
export function judgeSigners(signers: readonly string[], kids: readonly string[]): Finding {
  if (signers.length === 0) return skipped('There is no checkpoint yet.');
  const gone = signers.filter((kid) => !kids.includes(kid));
  if (gone.length === 0) return ok('Every key that signed a checkpoint is configured, and so published.');
  return warning(
    `Checkpoints were signed with keys that are no longer configured: ${listed(gone)}.`,
    'Configure them again, to be published only, or verify with a key set that was kept: `mandate audit-verify --jwks FILE`.',
  );
}

export function judgeOutbox({ queueing, waiting, failing }: OutboxCondition, hasSink: boolean): Finding {
  const records = `${waiting} ${waiting === 1 ? 'record waits' : 'records wait'} for the sink`;
  if (!hasSink) {
    if (!queueing && waiting === 0) return skipped('There is no sink, and nothing waits for one.');
    return warning(
      `${records}${queueing ? ', and more are queued' : ''}, but none is configured here.`,
      'Configure Service:Audit:Sink:Url as the replicas have it; if there is to be no sink, a start without one ends the queueing.',
    );
  }
  if (failing > 0) {
    return warning(
      `${records}; it has refused, or not answered for, ${failing} of them.`,
      "See what the sink says of them, and the replicas' log. They are sent until it takes them.",
    );
  }
  if (waiting >= MANY_WAITING) {
    return warning(
      `${records}, or more.`,
      'See that a replica runs; a larger Service:Audit:DrainBatchSize catches up faster.',
    );
  }
  return ok(`${records}.`);
}

function ago(then: Instant, now: Instant): string {
  const seconds = Math.round(secondsBetween(then, now));
  return seconds < 1 ? 'just now' : `${formatDuration(seconds)} ago`;
}
