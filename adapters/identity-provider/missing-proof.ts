/**
 * Finds out whether a provider refused a code because the request had no proof of a key (DPoP, RFC 9449). Some providers say
 * only `invalid_grant` then, as they do of a code that was used before.
 */

import {
  authorizationCodeGrant,
  type Configuration,
  customFetch,
  getDPoPHandle,
  randomDPoPKeyPair,
} from 'openid-client';
import { isTextList, type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import type { LibraryRequest } from './through-network.ts';

/** The algorithm of the proof. */
const ALGORITHM = 'ES256';

/** Whether the metadata says that the provider knows proofs (RFC 9449 §5.1). */
function knowsProofs(document: JsonObject): boolean {
  const algorithms = member(document, 'dpop_signing_alg_values_supported');
  return isTextList(algorithms) && algorithms.includes(ALGORITHM);
}

/**
 * Sends the same code once more, with a proof. Only a code that is unused is then accepted. The tokens are dropped: a
 * provider may also take the code as used by the first request, so a sign-in cannot rest on the second one.
 *
 * @param callback the return address with the code
 * @param request sends the second request
 */
export async function lacksProof(
  { configuration, document }: { readonly configuration: Configuration; readonly document: JsonObject },
  callback: URL,
  checks: { readonly expectedState: string; readonly pkceCodeVerifier: string },
  request: LibraryRequest,
): Promise<boolean> {
  if (!knowsProofs(document)) return false;
  configuration[customFetch] = request.fetch;
  const DPoP = getDPoPHandle(configuration, await randomDPoPKeyPair(ALGORITHM));
  try {
    await authorizationCodeGrant(configuration, callback, checks, undefined, { DPoP });
    return true;
  } catch {
    return false;
  }
}
