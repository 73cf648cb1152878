/**
 * Shared by all requests to the provider's token endpoint: limits, errors, and the secrets that an answer may repeat.
 */

/** The time limit in milliseconds is that of the supplement, "Blocks, poll mode, health". */
export const TOKEN_REQUEST = { timeoutMs: 10_000, maxBytes: 64 * 1024 } as const;

/** Errors about the code (RFC 6749 §5.2): the provider knows the client. `invalid_code` is Glewlwyd's. */
export const CODE_ERRORS: readonly unknown[] = ['invalid_grant', 'invalid_code'];

const SECRET_PARAMETERS = ['client_secret', 'client_assertion', 'code', 'code_verifier'];

/** The secrets of a request, in each form that an answer may repeat: as they were sent, and decoded. */
export function secretsIn(headers: Headers, body: URLSearchParams): readonly string[] {
  const [, basic = ''] = /^Basic (.*)$/.exec(headers.get('authorization') ?? '') ?? [];
  // RFC 6749 §2.3.1: client id and secret, separated by a colon. The id is no secret.
  const encoded = atob(basic).replace(/^[^:]*:/, '');
  return [basic, encoded, ...SECRET_PARAMETERS.map((name) => body.get(name) ?? '')];
}
