/**
 * Reads the bearer token from the Authorization header (RFC 6750 §2.1), never from a query or a body. A request with two
 * such headers has no token, because parsers differ about which one counts.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { trimOws } from '../../../../domain/trim-ows.ts';
import { anyObject, checkArguments, must, optional, optionsOf } from '../../arguments.ts';
import { headerValues } from './raw-headers.ts';

const BEARER = /^bearer +(.+)$/is;

const HEADERS = optionsOf({
  rawHeaders: must('be a list of names and values', (value) => {
    return Array.isArray(value) && value.every((each) => typeof each === 'string');
  }),
  headers: optional(anyObject),
});

/**
 * The values of all Authorization headers of a request.
 *
 * @param rawHeaders Node's `IncomingMessage.rawHeaders`: alternating names and values. Node's `headers` drops the
 *   second of two
 * @param headers read only if `rawHeaders` is empty. Adapters for functions (`serverless-http`) make requests without
 *   it
 *
 * @example
 * ```ts
 * import { authorizationHeaders } from '@mandate/tool-server';
 *
 * const authorization = authorizationHeaders(request.rawHeaders, request.headers);
 * const access = await toolServer.authorize({ route: 'GET /issues', policy, authorization });
 * console.log(access.kind === 'allowed' ? access.claims.sub : access.reason);
 * ```
 */
export function authorizationHeaders(
  rawHeaders: readonly string[],
  headers: IncomingHttpHeaders = {},
): readonly string[] {
  checkArguments('authorizationHeaders', { rawHeaders, headers }, HEADERS);
  if (rawHeaders.length === 0) {
    return Object.entries(headers).flatMap(([name, value]) =>
      name.toLowerCase() === 'authorization' ? (value ?? []) : [],
    );
  }
  return headerValues(rawHeaders, 'authorization');
}

/** The token, whose form is not checked. `undefined` unless there is exactly one Authorization header of type Bearer. */
export function bearerToken(authorization: string | readonly string[] | undefined): string | undefined {
  const [line, ...others] = typeof authorization === 'string' ? [authorization] : (authorization ?? []);
  if (line === undefined || others.length > 0) return undefined;
  return BEARER.exec(trimOws(line))?.[1];
}
