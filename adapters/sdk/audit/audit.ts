/**
 * The exports of `mandate/audit`: an auditor's script verifies published records and checkpoints with them. They share
 * the sealing code with the service and load none of its server (specification "Ledger and seal"; docs/auditing.md).
 */

export { type Auditor, type ChainVerdict, createAuditor, type Fault, type JwkSet, type Verdict } from './auditor.ts';
export type { PublishedCheckpoint, PublishedProof, PublishedRecord } from './published.ts';
