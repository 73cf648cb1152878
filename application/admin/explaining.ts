/** The decisions of one operator's request: the one that ends it also records the act, and why it was done. */

import type { OperatorAct, RequestedAct } from '../../domain/operators/operator-act.ts';
import { recordAct } from '../decisions/operator-act.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Digest, Randomness } from '../ports/runtime.ts';

interface Explaining {
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly digest: Digest;
}

/** 256 bits, so that an erased reason cannot be guessed. */
const SALT_BYTES = 32;

/** `settle` records the act unless a decision has. It runs before the answer leaves. */
export function explaining<Storage extends Decisions>(
  { clock, randomness, digest }: Explaining,
  storage: Storage,
  requested: RequestedAct,
): { readonly storage: Storage; settle(): Promise<void> } {
  const { reason } = requested;
  const salt = reason === undefined ? undefined : randomness.secret(SALT_BYTES);
  const act: OperatorAct = {
    ...requested,
    at: clock.now(),
    sealed: salt === undefined ? undefined : { salt, hash: digest(`${salt}${reason}`) },
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
