/**
 * `mandate/audit`: what an auditor's own script needs to verify what the service publishes, with the code that the
 * service seals with and none of its server (specification "Ledger and seal"; docs/auditing.md).
 */

export { type Auditor, type ChainVerdict, createAuditor, type Fault, type JwkSet, type Verdict } from './auditor.ts';
export type { PublishedCheckpoint, PublishedProof, PublishedRecord } from './published.ts';
