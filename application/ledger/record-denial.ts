/**
 * The one exit through which every refusal of the token, introspection and revocation endpoints leaves: it is written
 * to the ledger before it is answered (specification "Errors": every denial is written, none is dropped), but for those
 * that name nobody, which may be counted (specification "Aggregation").
 */

import { isTemporary } from '../../domain/denial.ts';
import { type Denial, denied, type Outcome } from '../outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { AnonymousDenials } from './anonymous-denials.ts';

export interface DenialRecording {
  readonly ledger: Pick<Ledger, 'refuse'>;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
}

/**
 * Runs a decision and records its refusal as `token.denied`. The answered reason is the recorded one, which may be an
 * earlier check's (see Ledger.refuse).
 *
 * @throws StorageUnavailable when a refusal that names somebody can't be recorded: it is then not answered as one
 *   (decisions "Token endpoint"). One that names nobody is answered all the same.
 */
export function recordDenials({ ledger, anonymous, clock }: DenialRecording) {
  return async <T>(decide: () => Promise<Outcome<T>>): Promise<Outcome<T>> => {
    const outcome = await decide();
    if (outcome.kind === 'allowed') return outcome;
    const { denial } = outcome;
    if (isAnonymous(denial)) {
      await anonymous.record({ event: 'token.denied', reason: denial.reason });
      return outcome;
    }
    const recorded = await ledger.refuse({
      entry: { at: clock.now(), event: 'token.denied', ...denial.about, decision: 'deny', reason: denial.reason },
      // "Not now" leaves the assertion unused: the same request may be sent again (specification, temporarily_unavailable).
      assertion: isTemporary(denial.reason) ? undefined : denial.assertion,
      sponsorKey: denial.sponsorKey,
    });
    return recorded === denial.reason ? outcome : denied(recorded);
  };
}

/**
 * Names nobody, and leaves the ledger nothing to decide: an assertion to use up or a person to look up would, and comes
 * only after its agent is known. What else was sent is not recorded, since nobody vouches for it.
 */
function isAnonymous({ about, assertion, sponsorKey }: Denial): boolean {
  const named = about?.agentId ?? about?.sponsor ?? about?.taskId;
  return named === undefined && assertion === undefined && sponsorKey === undefined;
}
