/**
 * Ledger entries and records (specification "Audit record", "Events"). Each says one thing that was decided, or sums
 * up equal ones (`count`, aggregation.ts). The fields are in the order of the specification's table.
 *
 * How records are sealed: each is written as canonical JSON (canonical-json.ts) and hashed into a tree
 * (merkle-tree.ts), whose root a checkpoint signs (checkpoint.ts). inclusion.ts proves one record, verification.ts has
 * the rules of a whole chain, and distrust.ts the reasons not to seal. published.ts reads what the API publishes;
 * archive-format.ts is the text of an export.
 */

import type { AgentId, TaskId, TokenId } from '../identifiers.ts';
import { type Instant, toMillisecondText } from '../instant.ts';

export const ledgerEvents = [
  'token.issued',
  'token.denied',
  'token.refreshed',
  'token.revoked',
  'task.revoked',
  'task.expired',
  'purpose.stated',
  'delegation.offered',
  'delegation.taken',
  'agent.registered',
  'agent.updated',
  'agent.deleted',
  'sponsor.blocked',
  'sponsor.unblocked',
  'sponsor.signal',
  'signal.denied',
  'scim.denied',
  'ssf.denied',
  'admin.denied',
  'me.denied',
  'delegation.refused',
  'delegation.allowed',
  'approval.requested',
  'approval.granted',
  'approval.refused',
  'approval.expired',
  'approval.withdrawn',
  'approval.used',
  'authorization.allowed',
  'authorization.refused',
  'authorization.denied',
  'task.authorized',
  'operator.acted',
  'operator.signed_in',
  'operator.signed_out',
  'audit.archived',
  'database.restored',
  'key.activated',
  'key.retired',
] as const;
export type LedgerEvent = (typeof ledgerEvents)[number];

export type LedgerDecision = 'allow' | 'deny';

/** An entry before it is appended; the ledger then gives it its sequence number. */
export interface LedgerEntry {
  readonly at: Instant;
  readonly event: LedgerEvent;
  readonly taskId?: TaskId | undefined;
  readonly agentId?: AgentId | undefined;
  /** The human (`sub`); the sponsor key on `sponsor.blocked` and `sponsor.unblocked`. */
  readonly sponsor?: string | undefined;
  readonly audience?: string | undefined;
  /** Space-separated. */
  readonly scope?: string | undefined;
  readonly jti?: TokenId | undefined;
  readonly delegationDepth?: number | undefined;
  readonly decision: LedgerDecision;
  readonly reason?: string | undefined;
  /** Only on a summary: how many denials or renewals this record stands for. */
  readonly count?: number | undefined;
  /** Only on `purpose.stated`, `delegation.…`, `audit.archived`, `database.restored`, `key.activated`, `key.retired`, on `approval.…`, `authorization.…`, `task.authorized` and `operator.…`, on `admin.denied` about a person, on `token.denied` about a code, and on a signal that ended nothing. */
  readonly detail?: string | undefined;
}

/** An entry as the ledger stores it. */
export interface LedgerRecord extends Omit<LedgerEntry, 'decision' | 'event' | 'taskId' | 'agentId' | 'jti'> {
  readonly seq: number;
  /** The checkpoint that seals it; `undefined` until then. */
  readonly checkpoint: number | undefined;
  readonly event: string;
  readonly taskId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly jti?: string | undefined;
  /** `undefined` only if it is missing in storage: a reader accepts that (supplement "The ledger"). */
  readonly decision: LedgerDecision | undefined;
}

/** A record as JSON (`GET /audit`, the sink). Absent fields are null; absent `count` and `detail` are left out. */
export function presentRecord(record: LedgerRecord): Record<string, unknown> {
  return {
    seq: record.seq,
    checkpoint: record.checkpoint ?? null,
    ts: toMillisecondText(record.at),
    event: record.event,
    task_id: record.taskId ?? null,
    agent_id: record.agentId ?? null,
    sponsor: record.sponsor ?? null,
    audience: record.audience ?? null,
    scope: record.scope ?? null,
    jti: record.jti ?? null,
    delegation_depth: record.delegationDepth ?? null,
    decision: record.decision ?? null,
    reason: record.reason ?? null,
    ...(record.count === undefined ? {} : { count: record.count }),
    ...(record.detail === undefined ? {} : { detail: record.detail }),
  };
}
