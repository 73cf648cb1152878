/** The endpoints that the provider's metadata names for a sign-in. */

import { PUSHED_REQUEST_ENDPOINT } from '../../domain/sessions/provider-demands.ts';
import { type JsonObject, textMember } from '../../domain/tokens/strict-json.ts';

/**
 * The endpoints that a sign-in needs, and that the metadata lacks or names in a form that is not used.
 *
 * @param pushes whether the authorization request is pushed (RFC 9126 §5)
 */
export function unusableEndpoints(document: JsonObject, isPlain: boolean, pushes: boolean): readonly string[] {
  const maybePlain = acceptsPlain(document, isPlain);
  const needed = ['authorization_endpoint', 'token_endpoint', ...(pushes ? [PUSHED_REQUEST_ENDPOINT] : [])];
  return needed.filter((name) => !isEndpoint(document, name, maybePlain));
}

/** Whether plain http is accepted: only if neither the document's address nor its issuer has TLS. */
export function acceptsPlain(document: JsonObject, isPlain: boolean): boolean {
  return isPlain && (textMember(document, 'issuer') ?? '').startsWith('http:');
}

/** A code or a secret over plain http could be read in transit. */
export function isEndpoint(document: JsonObject, name: string, maybePlain: boolean): boolean {
  const address = textMember(document, name);
  if (address === undefined || !URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && maybePlain);
}
