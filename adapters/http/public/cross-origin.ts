/**
 * Cross-origin requests of programs in browsers, such as an MCP client that is a web page (Fetch Standard, "CORS protocol"). Every
 * origin may ask, and no cookie counts: who has no token or code gets none.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { discardRest } from '../message/body.ts';
import { pathOf } from '../routes.ts';

/** Below it are metadata and keys. Programs also look for metadata at addresses that do not exist. */
const WELL_KNOWN = '/.well-known/';
/** Browsers keep the answer of a preflight for two hours at most. */
const MAX_AGE_SECONDS = 7200;

const ANY_ORIGIN = 'Access-Control-Allow-Origin';
const PREFLIGHT = {
  'Access-Control-Allow-Headers': 'authorization, content-type, mcp-protocol-version',
  'Access-Control-Max-Age': MAX_AGE_SECONDS,
};

/**
 * Opens these paths, and those below `/.well-known/`, to scripts of every origin: also their refusals, or a script could not tell
 * them from a broken network.
 *
 * @param paths each takes POST
 * @returns whether the request was a preflight, which is then answered. It is answered before anything is counted or waited for:
 *   it says nothing that depends on the request
 */
export function crossOrigin(paths: ReadonlySet<string>) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = pathOf(request.url ?? '');
    const isWellKnown = path.startsWith(WELL_KNOWN);
    if (!isWellKnown && !paths.has(path)) return false;
    response.setHeader(ANY_ORIGIN, '*');
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate');
    const isPreflight =
      request.method === 'OPTIONS' &&
      request.headers.origin !== undefined &&
      request.headers['access-control-request-method'] !== undefined;
    if (!isPreflight) return false;
    discardRest(request);
    response.removeHeader('Access-Control-Expose-Headers');
    response.writeHead(204, { ...PREFLIGHT, 'Access-Control-Allow-Methods': isWellKnown ? 'GET, HEAD' : 'POST' });
    response.end();
    return true;
  };
}
