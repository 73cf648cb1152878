/**
 * Every refusal of the token, introspection and revocation endpoints passes through here. It is written to the ledger
 * before it is answered (specification "Errors": every denial is written, none is dropped). Anonymous denials may be
 * counted instead (specification "Aggregation").
 */

import { isTemporary } from '../../domain/denial.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { refuse } from '../decisions/refuse.ts';
import { type Denial, denied, type Outcome } from '../outcome.ts';
import { type Decisions, StorageUnavailable } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';
import type { AnonymousDenials } from './anonymous-denials.ts';

interface DenialRecording {
  readonly decisions: Decisions;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
}

/**
 * Runs a decision and records its refusal as `token.denied`. The returned reason is the recorded one, which may be that
 * of an earlier check (see `../decisions/refuse.ts`).
 *
 * @throws StorageUnavailable if a refusal that names an agent or a person can't be recorded, or rests on an outdated
 *   read: the client then gets 503 instead (supplement "Token endpoint"). An anonymous refusal is answered even if it
 *   can't be recorded.
 */
export function recordDenials({ decisions, anonymous, clock }: DenialRecording) {
  return async <T>(decide: () => Promise<Outcome<T>>, trace?: Trace): Promise<Outcome<T>> => {
    const outcome = await decide();
    if (outcome.kind === 'allowed') return outcome;
    const { denial } = outcome;
    if (denial.isRecorded) return outcome;
    if (isAnonymous(denial)) {
      await anonymous.record({ event: 'token.denied', reason: denial.reason }, trace);
      return outcome;
    }
    const recorded = await decisions.decide(refuse, {
      entry: { at: clock.now(), event: 'token.denied', ...denial.about, decision: 'deny', reason: denial.reason },
      // A temporary refusal does not use up the assertion or the code: the client may send the same request again.
      assertion: isTemporary(denial.reason) ? undefined : denial.assertion,
      sponsorKey: denial.sponsorKey,
      unknownGrant: denial.unknownGrant,
      misusedTask: denial.misusedTask,
      spentCode: isTemporary(denial.reason) ? undefined : denial.spentCode,
    });
    if (recorded === 'grant_exists') throw new StorageUnavailable('A read did not find a grant that is stored');
    const { isOfPersonsStart } = denial;
    return recorded === denial.reason ? outcome : denied(recorded, isOfPersonsStart ? { isOfPersonsStart } : {});
  };
}

/**
 * Whether the denial names no agent, person or task, uses up no assertion, and needs no check for a block. Other parts
 * of the request are not verified, so they are not recorded.
 */
function isAnonymous({ about, assertion, sponsorKey }: Denial): boolean {
  const named = about?.agentId ?? about?.sponsor ?? about?.taskId;
  return named === undefined && assertion === undefined && sponsorKey === undefined;
}
