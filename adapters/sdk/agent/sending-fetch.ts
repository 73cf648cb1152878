/** `fetch` with a task's token, to where the token is meant for and nowhere else. */

/**
 * @param token gives one that works now
 * @param origins where it may be sent: a token is the authority of a person, for one server
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
    // To another origin a redirect would carry the token, or at least what was asked: nobody follows one by an option.
    const redirect = init.redirect === 'manual' ? 'manual' : 'error';
    return fetch(url, { ...init, headers, redirect });
  };
}
