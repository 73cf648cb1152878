/**
 * Lets scripts of the listed origins read the answers that the guard makes itself, such as a refusal (Fetch, "CORS protocol").
 * The answers of the service have its own headers. So the headers are set before the decision, and removed where the request
 * is allowed: no answer of the guard can lack them.
 */

import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';

/** What MCP clients read. By default a script sees neither. */
const EXPOSED = 'WWW-Authenticate, Retry-After, Mcp-Session-Id';

const ALLOW = 'Access-Control-Allow-Origin';
const EXPOSE = 'Access-Control-Expose-Headers';
const VARY = 'Vary';

/** @param origins that the file lists. Without any, no header is set */
export function openOwnAnswer(
  origins: ReadonlySet<string>,
  { headers: { origin } }: Pick<IncomingMessage, 'headers'>,
  response: ServerResponse,
): void {
  if (origins.size === 0) return;
  // RFC 9110 §12.5.5: a cache must not give this answer to a script of another origin.
  response.setHeader(VARY, 'Origin');
  if (origin === undefined || !origins.has(origin)) return;
  response.setHeader(ALLOW, origin).setHeader(EXPOSE, EXPOSED);
}

/** The answer is not the guard's own. @param headers of the service: alternating names and values. @returns those for `writeHead` */
export function closeOwnAnswer(response: ServerResponse, headers: string[] = []): OutgoingHttpHeader[] {
  if (!response.hasHeader(VARY)) return headers;
  for (const name of [VARY, ALLOW, EXPOSE]) response.removeHeader(name);
  return grouped(headers);
}

/** After a `setHeader`, `writeHead` of Node 20 writes only the last of two headers with one name, unless they have one entry. */
function grouped(headers: readonly string[]): OutgoingHttpHeader[] {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const { [at]: name = '', [at + 1]: value = '' } = headers;
    const found = byName.get(name.toLowerCase());
    if (found === undefined) byName.set(name.toLowerCase(), { name, values: [value] });
    else found.values.push(value);
  }
  return [...byName.values()].flatMap(({ name, values }) => [name, values]);
}
