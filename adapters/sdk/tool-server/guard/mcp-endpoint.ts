/**
 * Decides about a request at `mcp.path`. The guard reads its message, and sends the same bytes to the upstream, with two
 * exceptions. It writes an approved call anew. While such a call runs, it replaces a response of the client by an error.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type SentJson, writeAsSent } from '../../../../domain/tokens/json-as-sent.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import type { Release } from '../core/held-bodies.ts';
import { hasLookalike } from '../core/lookalikes.ts';
import { type AllowedMessage, decideMcp, type McpRules } from '../core/mcp-access.ts';
import { NO_MESSAGE, readJsonBody, sentParts, unsupportedBody } from '../core/mcp-message.ts';
import { replaceHeader } from '../core/raw-headers.ts';
import { closingIfLate, inviteBody, isJsonInUtf8 } from './request-body.ts';

export interface AllowedRequest {
  /** `undefined` for a request that needs no token. */
  readonly claims: TaskTokenClaims | undefined;
  /** The body, if it has been read. */
  readonly body?: Buffer | undefined;
  /** Whether a person approved a request at a route. */
  readonly isApproved?: boolean;
  /** Called when the upstream has the body. */
  readonly release?: Release | undefined;
  /** At `mcp.path`: the calls of the session that a person approved, and that of this request. */
  readonly approved?: Pick<AllowedMessage, 'calls' | 'call' | 'beginsSession'>;
  /** At `mcp.path`: gets the answer, if that is to be read on its way. */
  readonly copy?: AllowedMessage['copy'];
  /** At `mcp.path`: cuts the lists in the answer. */
  readonly lists?: AllowedMessage['lists'];
}

/**
 * Decides, and answers a refused request. The caller discards what is left of its body.
 *
 * @param limits `hold` takes a permit for the body
 * @returns `undefined` if the request is answered
 */
export async function decideAtMcp(
  rules: McpRules,
  request: IncomingMessage,
  response: ServerResponse,
  {
    hold,
    maxBodyBytes,
  }: { readonly hold: (claims: TaskTokenClaims) => Release | undefined; readonly maxBodyBytes: number },
): Promise<AllowedRequest | undefined> {
  let bytes: Buffer | undefined;
  let text: string | undefined;
  let release: Release | undefined;
  const read = async (caller: TaskTokenClaims) => {
    release = hold(caller);
    if (release === undefined) return 'overloaded';
    if (!isJsonInUtf8(request)) return unsupportedBody('The body must be JSON in UTF-8.');
    inviteBody(request, response);
    const found = await closingIfLate(request, readJsonBody(request, maxBodyBytes));
    if (found.kind === 'fault') return found;
    if (hasLookalike(found.body, request.headers['mcp-name'] !== undefined)) return NO_MESSAGE;
    ({ bytes, text } = found);
    return found;
  };
  const allowed = await decideMcp(rules, request, { parsed: undefined, discardsRest: true, read }, response);
  if (allowed === undefined) return undefined;
  const { claims, instead, copy, lists, ...approved } = allowed;
  if (instead === undefined) return { claims, body: bytes, release, approved, copy, lists };
  const body = Buffer.from(approved.call === undefined ? withSentId(instead, text) : JSON.stringify(instead));
  if (request.headers['content-length'] !== undefined) replaceHeader(request, 'content-length', String(body.length));
  return { claims, body, release, approved, lists };
}

/** The error in place of a response. The server looks for its own id as it sent it, also for one that a double rounds. */
function withSentId(error: object, text: string | undefined): string {
  return writeAsSent({ ...error, id: sentParts(text)()?.id } as SentJson, Object.keys);
}
