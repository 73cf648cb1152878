/** The decisions of one operator's request: the one that ends it also records the act, and why it was done. */

import { saltedText } from '../../domain/ledger/sealed-text.ts';
import type { OperatorAct, RequestedAct } from '../../domain/operators/operator-act.ts';
import { recordAct } from '../decisions/operator-act.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';
import { type Sealing, sealText } from '../seal-text.ts';

interface Explaining extends Sealing {
  readonly clock: Clock;
}

/** `settle` records the act unless a decision has. It runs before the answer leaves. */
export function explaining<Storage extends Decisions>(
  { clock, ...sealing }: Explaining,
  storage: Storage,
  requested: RequestedAct,
): { readonly storage: Storage; settle(): Promise<void> } {
  const { reason } = requested;
  const act: OperatorAct = {
    ...requested,
    at: clock.now(),
    sealed: reason === undefined ? undefined : sealText(sealing, (salt) => saltedText(salt, reason)),
  };
  let isRecorded = false;
  return {
    storage: {
      ...storage,
      async decide(decision, input) {
        const verdict = await storage.decide(decision, { ...input, act });
        isRecorded ||= decision.recordsAct?.(verdict) ?? false;
        return verdict;
      },
    },
    async settle() {
      if (!isRecorded) await storage.decide(recordAct, act);
    },
  };
}
