import type { Decision } from '../decisions/decision.ts';

/** The port of all writes (docs/decisions/0017-lock-read-judge-write.md). */
export interface Decisions {
  /**
   * Runs one decision as one transaction: takes its locks, reads its facts, judges, and applies the effects. The effects
   * and the ledger records are durable when this returns. If the judge names no effects, nothing is written. Of two
   * concurrent decisions, one sees the other's effects, because both lock the rows that they share before they read.
   *
   * @throws StorageUnavailable if the database does not answer or cannot take the decision. Whether it was applied is
   *   then unknown.
   */
  decide<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input): Promise<Verdict>;
}

/**
 * Thrown by storage ports if the database does not answer or cannot take the decision. The caller made no mistake, and
 * whether the decision was applied is unknown. Surfaces answer `temporarily_unavailable` (specification "Errors").
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
