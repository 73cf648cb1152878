/**
 * RFC 6749 §2.3: a client must not use more than one way of authentication in a request. A proxy or a library that adds one
 * might otherwise let another client's name into logs and limits in front of the service.
 */

import { type Denied, denied } from '../../../application/outcome.ts';
import type { Form } from './form.ts';

/**
 * The refusal of a request that is signed, and has a `client_secret` or an `Authorization` header as well. Without a value they
 * are omitted, as every parameter.
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
