/**
 * The one exit through which every refusal of the token, introspection and revocation endpoints leaves: it is written
 * to the ledger before it is answered (specification "Errors": every denial is written, none is dropped).
 */

import { type DenialReason, isTemporary } from '../../domain/denial.ts';
import { type Denial, denied, type Outcome } from '../outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Log } from '../ports/log.ts';
import { StorageUnavailable } from '../ports/storage-unavailable.ts';

export interface DenialRecording {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs a decision and records its refusal as `token.denied`. The answered reason is the recorded one, which may be an
 * earlier check's (see Ledger.refuse).
 *
 * @throws StorageUnavailable when a refusal that names somebody can't be recorded: it is then not answered as one
 *   (decisions "Token endpoint"). One that names nobody is answered all the same.
 */
export function recordDenials({ ledger, clock, log }: DenialRecording) {
  return async <T>(decide: () => Promise<Outcome<T>>): Promise<Outcome<T>> => {
    const outcome = await decide();
    if (outcome.kind === 'allowed') return outcome;
    const { denial } = outcome;
    let recorded: DenialReason;
    try {
      recorded = await ledger.refuse({
        entry: { at: clock.now(), event: 'token.denied', ...denial.about, decision: 'deny', reason: denial.reason },
        // "Not now" leaves the assertion unused: the same request may be sent again (specification, temporarily_unavailable).
        assertion: isTemporary(denial.reason) ? undefined : denial.assertion,
        sponsorKey: denial.sponsorKey,
      });
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || !namesNobody(denial)) throw error;
      log.warn('a refusal that names nobody could not be recorded', { reason: denial.reason });
      return outcome;
    }
    return recorded === denial.reason ? outcome : denied(recorded);
  };
}

function namesNobody({ about }: Denial): boolean {
  return about?.agentId === undefined && about?.sponsor === undefined && about?.taskId === undefined;
}
