/**
 * Shared by all requests to the provider's token endpoint, and to its endpoint for pushed requests, whose errors are alike
 * (RFC 9126 §2.3): limits, errors, and the secrets that an answer may repeat.
 */

import { type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';

/** The time limit in milliseconds is that of the supplement, "Blocks, poll mode, health". */
export const TOKEN_REQUEST = { timeoutMs: 10_000, maxBytes: 64 * 1024 } as const;

/** Errors about the code (RFC 6749 §5.2): the provider knows the client. `invalid_code` is Glewlwyd's. */
export const CODE_ERRORS: readonly unknown[] = ['invalid_grant', 'invalid_code'];

/** Errors about the client, or about what it may do. */
export const CLIENT_ERRORS: readonly unknown[] = ['invalid_client', 'unauthorized_client'];

/** Errors that pass (OpenID Connect Core 1.0 §3.1.2.6, RFC 6749 §4.1.2.1). */
export const PASSING_ERRORS: readonly unknown[] = ['temporarily_unavailable', 'server_error'];

/** Whether a later request may have another answer. */
export function isPassing(status: number | undefined): boolean {
  return status === 429 || (status ?? 0) >= 500;
}

/** RFC 9449 §5 and §8. */
const DPOP_ERRORS: readonly unknown[] = ['invalid_dpop_proof', 'use_dpop_nonce'];

/**
 * Whether the provider refuses a request because it has no proof of a key (RFC 9449). Some providers say so only in the
 * description of `invalid_grant` or `invalid_request`. No request of this service has a proof, so none can be wrong.
 *
 * @param code the code of the request. The browser brings it, so anybody can choose it, and a provider may repeat it.
 *   That of the doctor's trial is random
 */
export function demandsDpop(status: number, document: JsonObject, code = ''): boolean {
  if (status !== 400 && status !== 401) return false;
  const description = /dpop/i.test(code) ? '' : (textMember(document, 'error_description') ?? '');
  return DPOP_ERRORS.includes(member(document, 'error')) || /\bdpop\b/i.test(description);
}

const SECRET_PARAMETERS = ['client_secret', 'client_assertion', 'code', 'code_verifier', 'state', 'nonce'];

/** The secrets of a request, in each form that an answer may repeat: as they were sent, and decoded. */
export function secretsIn(headers: Headers, body: URLSearchParams): readonly string[] {
  const [, basic = ''] = /^Basic (.*)$/.exec(headers.get('authorization') ?? '') ?? [];
  // RFC 6749 §2.3.1: client id and secret, separated by a colon. The id is no secret.
  const encoded = atob(basic).replace(/^[^:]*:/, '');
  return [basic, encoded, ...SECRET_PARAMETERS.map((name) => body.get(name) ?? '')];
}
