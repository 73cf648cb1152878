/**
 * The bearer token of a request (RFC 6750 §2.1): from the one Authorization header, never from a query or a body. Of
 * two such headers readers take either, so two are none.
 */

const BEARER = /^bearer +(.+)$/is;

/**
 * What the Authorization headers of a request say, one entry for each.
 *
 * @param rawHeaders names and values in turn, as Node keeps them in `IncomingMessage.rawHeaders`: `headers` has only the
 *   first of two
 */
export function authorizationHeaders(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization');
}

/** The token, well-formed or not; `undefined` when there is none or it can't be said which. */
export function bearerToken(authorization: string | readonly string[] | undefined): string | undefined {
  const [line, ...others] = typeof authorization === 'string' ? [authorization] : (authorization ?? []);
  if (line === undefined || others.length > 0) return undefined;
  return BEARER.exec(line.trim())?.[1];
}
