/** What an identity provider's metadata demands of a sign-in, and which of its demands this service does not meet. */

import { PROVIDER_KEY_RULES } from '../agents/key-set.ts';
import { commonAlgorithm } from '../tokens/compact-jws.ts';
import { isTextList, type JsonObject, member } from '../tokens/strict-json.ts';

/** `Service:UpstreamIdp:PushedAuthorization`. */
export type PushedAuthorization = 'auto' | 'always' | 'never';

/** The member of the metadata (RFC 9126 §5). */
export const PUSHED_REQUEST_ENDPOINT = 'pushed_authorization_request_endpoint';

/** Whether a sign-in pushes its authorization request, so that the browser carries only a reference (RFC 9126). */
export function pushesRequest(document: JsonObject, choice: PushedAuthorization): boolean {
  return choice === 'auto' ? requiresPushedRequests(document) : choice === 'always';
}

/** RFC 9126 §5. */
function requiresPushedRequests(document: JsonObject): boolean {
  return member(document, 'require_pushed_authorization_requests') === true;
}

export interface UnmetDemand {
  /** The member of the metadata that has the demand. */
  readonly member: string;
  /** The demand in words, after "demands". */
  readonly words: string;
  /**
   * What shows that the provider does not insist: it accepts the client's authentication, or a pushed request.
   * `undefined`: only a sign-in shows it.
   */
  readonly refutedBy: 'client' | 'pushed_request' | undefined;
}

/** The ways in which this service can authenticate: with a signed assertion, or with a secret. */
export const CLIENT_AUTHENTICATIONS = ['private_key_jwt', 'client_secret_basic', 'client_secret_post'] as const;

/** @param document the provider's metadata. A list that it leaves out, or that is empty, demands nothing */
export function unmetDemands(document: JsonObject, choice: PushedAuthorization): readonly UnmetDemand[] {
  const listsNone = (list: string, ours: readonly string[], nameOf = (value: string) => value) => {
    const found = member(document, list);
    return isTextList(found) && found.length > 0 && !found.some((value) => ours.includes(nameOf(value)));
  };
  const demands: readonly (UnmetDemand & { readonly isUnmet: boolean })[] = [
    {
      member: 'require_pushed_authorization_requests',
      words: 'pushed authorization requests, and Service:UpstreamIdp:PushedAuthorization is never',
      isUnmet: choice === 'never' && requiresPushedRequests(document),
      refutedBy: undefined,
    },
    {
      // RFC 9101 §10.5.
      member: 'require_signed_request_object',
      words: 'signed request objects',
      isUnmet: member(document, 'require_signed_request_object') === true,
      refutedBy: 'pushed_request',
    },
    {
      member: 'token_endpoint_auth_methods_supported',
      words: 'a client authentication other than private_key_jwt and a client secret',
      isUnmet: listsNone('token_endpoint_auth_methods_supported', CLIENT_AUTHENTICATIONS),
      refutedBy: 'client',
    },
    {
      member: 'response_modes_supported',
      words: 'another response mode than query',
      isUnmet: listsNone('response_modes_supported', ['query']),
      refutedBy: 'pushed_request',
    },
    {
      member: 'id_token_signing_alg_values_supported',
      words: 'ID tokens of algorithms that this service does not accept',
      isUnmet: listsNone('id_token_signing_alg_values_supported', PROVIDER_KEY_RULES.algorithms, commonAlgorithm),
      refutedBy: undefined,
    },
  ];
  return demands.filter(({ isUnmet }) => isUnmet).map(({ isUnmet: _, ...demand }) => demand);
}
