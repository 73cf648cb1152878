/** A `fetch` that adds the task's token, and sends it to the task's origins only. */

/**
 * @param token resolves to a token that works now
 * @param origins the only allowed targets: the token carries a person's authority for one server
 */
export function sendingFetch(
  fetch: typeof globalThis.fetch,
  token: () => Promise<string>,
  origins: readonly string[],
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init = {}) => {
    const url = URL.canParse(String(input)) ? new URL(String(input)) : undefined;
    if (url === undefined || !origins.includes(url.origin)) {
      throw new TypeError('The address is not one that this task is for: its origin is none of the task.');
    }
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${await token()}`);
    // A redirect could carry the token or the request to another origin, so the `follow` option is overridden.
    const redirect = init.redirect === 'manual' ? 'manual' : 'error';
    return fetch(url, { ...init, headers, redirect });
  };
}
