/**
 * A verified signal about a person (specification "POST /backchannel-logout", "POST /events"), or the request of a tool server
 * for an approval. Each is accepted once.
 */

import type { Instant } from '../../domain/instant.ts';
import type { SignalUse } from '../../domain/signals/signal-claims.ts';
import { ask, type SignalName } from './fact.ts';
import { exclusive } from './lock.ts';

/** A received signal or request. Its `jti` is kept until `forgetAt`. */
export interface SignalOccurrence extends SignalUse {
  /** The issuer of the `jti`. */
  readonly issuer: string;
  /** The time of acceptance. */
  readonly at: Instant;
}

export type SignalVerdict =
  /** A signal with this `jti` was accepted before; nothing is written. */
  { readonly kind: 'repeated' } | { readonly kind: 'accepted'; readonly revokedTasks: number };

type Receiver = SignalName['receiver'];

export function signalLock(receiver: Receiver, { issuer, jti }: SignalOccurrence) {
  return exclusive('signal', JSON.stringify([receiver, issuer, jti]));
}

export function isAccepted(receiver: Receiver, { issuer, jti }: SignalOccurrence) {
  return ask('signal_accepted', { receiver, issuer, jti });
}

export function accept(receiver: Receiver, { issuer, jti, forgetAt }: SignalOccurrence) {
  return { effect: 'accept_signal', receiver, issuer, jti, forgetAt } as const;
}
