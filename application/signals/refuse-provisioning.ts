/** Records a request without the receiver's credential as `scim.denied` (specification "Authentication"). */

import type { CredentialDenialReason } from '../../domain/ledger/aggregation.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';

export interface ProvisioningRefusal {
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
}

/** Anonymous, so the request is answered even if the ledger is unavailable (decisions "Token endpoint"). */
export async function refuseProvisioning(
  { anonymous }: ProvisioningRefusal,
  reason: CredentialDenialReason,
): Promise<void> {
  await anonymous.record({ event: 'scim.denied', reason });
}
