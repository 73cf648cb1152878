/** Asks the upstream directly, as a client that goes around the guard would. */

/** Longer than the ten seconds that `fetch` waits for a connection. */
const TIMEOUT_MS = 15_000;
/** What the guard's port answers, or another check of task tokens. */
const REFUSED = new Set([401, 403]);
/** The errors of an address that gives no connection. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * @param url the address under which others would reach the upstream
 * @returns a warning if it answers a request without a token, or cannot be asked; `undefined` if it refuses the request, or
 *   is not reachable
 */
export async function probe(url: URL): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const code = codeOf(error);
    // An address that is not reachable leads no request around the guard.
    if (UNREACHABLE.has(code)) return undefined;
    return `The address of --probe could not be asked (${code}): other clients may reach the upstream there, around the guard.`;
  }
  await response.body?.cancel().catch(() => undefined);
  if (REFUSED.has(response.status)) return undefined;
  return `The address of --probe answers a request without a token with ${response.status}, not with 401 or 403: requests reach the upstream around the guard.`;
}

/** `fetch` hides the error of the connection in `cause`. */
function codeOf(error: unknown): string {
  const { name, cause } = error as Error & { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : name;
}
