/** Converts records and checkpoints of the API to the service's types, for tests with published vectors. */

import { instantFromMillis } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import type { PublishedObject } from './canonical-form.ts';

export function readRecord(published: PublishedObject): LedgerRecord {
  const text = (name: string) => (typeof published[name] === 'string' ? String(published[name]) : undefined);
  const integer = (name: string) => (typeof published[name] === 'number' ? Number(published[name]) : undefined);
  const decision = published.decision;
  return {
    seq: integer('seq') ?? 0,
    checkpoint: integer('checkpoint'),
    at: instantFromMillis(Date.parse(String(published.ts))),
    event: String(published.event),
    taskId: text('task_id'),
    agentId: text('agent_id'),
    sponsor: text('sponsor'),
    audience: text('audience'),
    scope: text('scope'),
    jti: text('jti'),
    delegationDepth: integer('delegation_depth'),
    decision: decision === 'allow' || decision === 'deny' ? decision : undefined,
    reason: text('reason'),
    count: integer('count'),
    detail: text('detail'),
  };
}

export function readCheckpoint(published: PublishedObject): Checkpoint {
  return {
    checkpointId: Number(published.checkpoint_id),
    firstSeq: Number(published.first_seq),
    lastSeq: Number(published.last_seq),
    treeSize: Number(published.tree_size),
    rootHash: String(published.root_hash),
    prevCheckpointHash: published.prev_checkpoint_hash === null ? undefined : String(published.prev_checkpoint_hash),
    closedAt: instantFromMillis(Date.parse(String(published.closed_at))),
    kid: String(published.kid),
    signature: String(published.signature),
  };
}
