/**
 * A decision: which locks it needs, which facts it reads, and a judge that answers with a verdict and effects. The
 * database engines lock, read and write; every rule is in the judges. See
 * docs/decisions/0017-lock-read-judge-write.md.
 *
 * Each decision is one file, and an entry in catalogue.ts. lock.ts, fact.ts and effect.ts list what decisions can
 * lock, read and write. Rules of several decisions have their own files: ending.ts (how tasks end), obstacle.ts (what
 * stops a task), assertion.ts (an assertion is used once), signal.ts (a signal is accepted once), operator-act.ts (who
 * asked for the change).
 */

import type { ConflictReason, DenialReason } from '../../domain/denial.ts';
import type { LedgerEvent } from '../../domain/ledger/record.ts';
import type { Effect } from './effect.ts';
import type { Answers, Questions } from './fact.ts';
import type { Lock } from './lock.ts';

export interface Judgement<Verdict> {
  readonly verdict: Verdict;
  readonly effects: readonly Effect[];
}

/**
 * How an engine runs the transaction.
 * - `shared`: frequent and short. Decisions that wait together may share one transaction.
 * - `own`: touches more rows, or waits longer for its locks.
 * - `operator`, `provider`: like `own`, but may end very many tasks, or are switches that must work when connections are
 *   scarce. Each of the two has its own connections, so that neither can use up those of the other.
 * - `person`: like `operator`, but with some of its connections only. People's stops never delay all of an operator's.
 */
export type TransactionUse = 'shared' | 'own' | 'operator' | 'person' | 'provider';

/** A decision with the types of its questions: `asks` names them, and `judge` gets the answers under the same names. */
interface TypedDecision<Input, Asked extends Questions, Verdict> {
  /** Unique. The SQLite thread finds the decision by it. */
  readonly name: string;
  readonly transaction: TransactionUse;
  /**
   * Whether decisions of the uses `operator` and `person` that wait together may share one transaction too. Without this
   * function they do not.
   */
  mayShare?(input: Input): boolean;
  locks(input: Input): readonly Lock[];
  asks(input: Input): Asked;
  /** Pure: the same input and facts give the same judgement. */
  judge(input: Input, facts: Answers<Asked>): Judgement<Verdict>;
  /** Whether a decision with this verdict records the act of its operator (operator-act.ts). */
  recordsAct?(verdict: Verdict): boolean;
  /** The denial that this verdict recorded, for the metrics. */
  denial?(input: Input, verdict: Verdict): Denial | undefined;
}

/** A recorded denial. */
export interface Denial {
  readonly event: LedgerEvent;
  readonly reason: DenialReason | ConflictReason;
}

/** A decision as an engine runs it. */
export interface Decision<Input, Verdict> extends Omit<TypedDecision<Input, Questions, Verdict>, 'judge'> {
  /** @param facts the answers to `asks`, under the same names */
  judge(input: Input, facts: Readonly<Record<string, unknown>>): Judgement<Verdict>;
}

export function decision<Input, Asked extends Questions, Verdict>(
  typed: TypedDecision<Input, Asked, Verdict>,
): Decision<Input, Verdict> {
  return { ...typed, judge: (input, facts) => typed.judge(input, facts as Answers<Asked>) };
}
