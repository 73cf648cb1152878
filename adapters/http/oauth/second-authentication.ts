/**
 * RFC 6749 §2.3: a client must not use more than one way of authentication in a request. A proxy in front
 * might otherwise log or limit the request under the name of another client.
 */

import { type Denied, denied } from '../../../application/outcome.ts';
import type { OAuthForm, OptionalParameters, Parameter } from './optional-parameters.ts';

/**
 * Refuses a signed request that also has a `client_secret` or an `Authorization` header. Both count as absent without a value,
 * as every parameter does.
 *
 * @param signed the parameters by which a client of this endpoint authenticates
 */
export function secondAuthentication(
  form: OAuthForm,
  authorization: string | undefined,
  signed: readonly Parameter[],
): Denied | undefined {
  const name = signed.find((one) => form.has(one));
  if (name === undefined) return undefined;
  const other = unreadCredential(form, authorization);
  if (other === undefined) return undefined;
  return denied('invalid_request', {
    detail: `A request authenticates in one way: send ${name} without ${other}.`,
  });
}

/**
 * The form without its `client_id`, if the request has a credential that no endpoint here reads. A `client_id` authenticates a
 * client only alone (RFC 6749 §3.2.1).
 */
export function withoutUnprovedName(
  form: OAuthForm,
  authorization: string | undefined,
  { authorizationCode }: Pick<OptionalParameters, 'authorizationCode'>,
): OAuthForm {
  if (!authorizationCode || unreadCredential(form, authorization) === undefined) return form;
  return {
    get: (name) => (name === 'client_id' ? undefined : form.get(name)),
    has: (name) => name !== 'client_id' && form.has(name),
  };
}

/** In words; `undefined` if the request has none. */
function unreadCredential(form: OAuthForm, authorization: string | undefined): string | undefined {
  if (authorization !== undefined && authorization !== '') return 'an Authorization header';
  return form.has('client_secret') ? 'a client_secret' : undefined;
}
