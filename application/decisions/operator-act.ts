/** Records an operator's act in the transaction of the change that it makes. */

import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { OperatorAct } from '../../domain/operators/operator-act.ts';
import { type Decision, decision } from './decision.ts';
import { recorded } from './effect.ts';

export interface Explained {
  /** `undefined` without `Service:Operators`, and for a change that no operator asked for. */
  readonly act?: OperatorAct | undefined;
}

/** @param isFinal whether the request ends with this verdict; else it decides again, and that decision records the act */
export function explained<Input, Verdict>(
  plain: Decision<Input, Verdict>,
  isFinal: (verdict: Verdict) => boolean = () => true,
): Decision<Input & Explained, Verdict> {
  return {
    ...plain,
    recordsAct: isFinal,
    // A transaction with an act holds one decision: the act names the first record of its transaction.
    mayShare: (input) => input.act === undefined && plain.mayShare?.(input) === true,
    judge(input, facts) {
      const { verdict, effects } = plain.judge(input, facts);
      if (input.act === undefined || !isFinal(verdict)) return { verdict, effects };
      return { verdict, effects: [...effects, { effect: 'operator_act', ...input.act }] };
    },
  };
}

/** Records an act that decided nothing, for example because it named nothing that exists. */
export const recordAct = decision({
  name: 'record_act',
  transaction: 'own',
  locks: () => [],
  asks: () => ({}),
  judge: (act: OperatorAct) => ({ verdict: undefined, effects: [{ effect: 'operator_act', ...act }] }),
});

/** Records that a person lacks the role for a route. */
export const refuseOperator = decision({
  name: 'refuse_operator',
  transaction: 'shared',
  locks: () => [],
  asks: () => ({}),
  judge: (entry: LedgerEntry) => ({ verdict: undefined, effects: recorded([entry]) }),
  denial: () => ({ event: 'admin.denied', reason: 'operator_role_missing' }),
});
