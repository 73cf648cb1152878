/**
 * RFC 6749 §2.3: a client must not use more than one way of authentication in a request. A proxy in front
 * might otherwise log or limit the request under the name of another client.
 */

import { type Denied, denied } from '../../../application/outcome.ts';
import type { Form } from './form.ts';

/**
 * Refuses a signed request that also has a `client_secret` or an `Authorization` header. Both count as absent without a value,
 * as every parameter does.
 *
 * @param signed the parameters by which a client of this endpoint authenticates
 */
export function secondAuthentication(
  form: Form,
  authorization: string | undefined,
  signed: readonly string[],
): Denied | undefined {
  const name = signed.find((one) => form.has(one));
  if (name === undefined) return undefined;
  const hasHeader = authorization !== undefined && authorization !== '';
  if (!hasHeader && !form.has('client_secret')) return undefined;
  const other = hasHeader ? 'an Authorization header' : 'a client_secret';
  return denied('invalid_request', {
    detail: `A request authenticates in one way: send ${name} without ${other}.`,
  });
}
