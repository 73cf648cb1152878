/** Records a request without the admin key as `admin.denied` (specification "Authentication"; decisions "Reasons"). */

import type { CredentialDenialReason } from '../../domain/ledger/aggregation.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';

export interface AdminRefusal {
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
}

export type AdminDenialReason = CredentialDenialReason;

/** Names nobody, so it is answered even where the ledger can't take it (decisions "Token endpoint"). */
export async function refuseAdmin({ anonymous }: AdminRefusal, reason: AdminDenialReason): Promise<void> {
  await anonymous.record({ event: 'admin.denied', reason });
}
