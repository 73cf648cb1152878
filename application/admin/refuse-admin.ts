/** Records a request without the admin key as `admin.denied` (specification "Authentication"; decisions "Reasons"). */

import type { CredentialDenialReason } from '../../domain/ledger/aggregation.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';

export interface AdminRefusal {
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
}

export type AdminDenialReason = CredentialDenialReason;

/** Anonymous, so the request is answered even if the ledger is unavailable (decisions "Token endpoint"). */
export async function refuseAdmin({ anonymous }: AdminRefusal, reason: AdminDenialReason): Promise<void> {
  await anonymous.record({ event: 'admin.denied', reason });
}
