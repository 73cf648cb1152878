/** Records a request without the admin key as `admin.denied` (specification "Authentication"; decisions "Reasons"). */

import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Log } from '../ports/log.ts';
import { StorageUnavailable } from '../ports/storage-unavailable.ts';

export interface AdminRefusal {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly clock: Clock;
  readonly log: Log;
}

export type AdminDenialReason = 'missing_api_key' | 'invalid_api_key';

/** Names nobody, so it is answered even where the ledger can't take it (decisions "Token endpoint"). */
export async function refuseAdmin({ ledger, clock, log }: AdminRefusal, reason: AdminDenialReason): Promise<void> {
  try {
    await ledger.append({ at: clock.now(), event: 'admin.denied', decision: 'deny', reason });
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    log.warn('a refusal that names nobody could not be recorded', { reason });
  }
}
