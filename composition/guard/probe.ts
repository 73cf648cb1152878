/** Asks the upstream directly, as a client that goes around the guard would. */

const TIMEOUT_MS = 10_000;
/** What the guard's port answers, or another check of task tokens. */
const REFUSED = new Set([401, 403]);

/**
 * @param url the address under which others would reach the upstream
 * @returns a warning if it answers a request without a token; otherwise `undefined`
 */
export async function probe(url: URL): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    // What cannot be reached cannot be walked around.
    return undefined;
  }
  await response.body?.cancel().catch(() => undefined);
  if (REFUSED.has(response.status)) return undefined;
  return `The address of --probe answers a request without a token with ${response.status}, not with 401 or 403: requests reach the upstream around the guard.`;
}
