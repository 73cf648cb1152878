/** Requests through the network, and their failures. */

import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { NetworkFailure, type NetworkRequest } from '../../application/ports/network.ts';
import { testTrust } from './loopback.ts';

export const network = httpNetwork({ secureContext: testTrust });

export function get(url: string, changes: Partial<NetworkRequest> = {}): NetworkRequest {
  return { method: 'GET', url, timeoutMs: 2000, maxBytes: 1000, ...changes };
}

export async function failureOf(request: NetworkRequest, through = network): Promise<NetworkFailure> {
  const failure: unknown = await through.send(request).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (failure instanceof NetworkFailure) return failure;
  throw new Error(`not a NetworkFailure: ${String(failure)}`);
}
