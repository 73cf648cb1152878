/**
 * Sends the requests of the library for sign-ins as all others of this service: with its limits, certificates and proxy.
 * The library gets what it needs of the answer. It would refuse an ID token for a claim that is null, or for an algorithm
 * that the metadata does not list; sign-in.ts checks the token.
 */

import type { CustomFetch } from 'openid-client';
import { isDocument, type Network, type NetworkAnswer, NetworkFailure } from '../../application/ports/network.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson, textMember } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import { demandsDpop, secretsIn, TOKEN_REQUEST } from './token-endpoint.ts';

/** An answer to the library's request: the status of a good one, and the members that the library reads. */
interface ExpectedAnswer {
  readonly status: number;
  readonly members: readonly string[];
}

/** RFC 6749 §5.1. */
export const TOKENS: ExpectedAnswer = { status: 200, members: ['access_token', 'token_type', 'error'] };
/** RFC 9126 §2.2. */
export const PUSHED_REQUEST: ExpectedAnswer = { status: 201, members: ['request_uri', 'expires_in', 'error'] };

/** One request of the library, and what became of it. */
export interface LibraryRequest {
  readonly fetch: CustomFetch;
  /** `undefined` if nothing was sent, or no complete answer came. */
  answer(): NetworkAnswer | undefined;
  /** The answer's members; `undefined` if it is no JSON object. */
  document(): JsonObject | undefined;
  /** Why no complete answer came. */
  failure(): NetworkFailure | undefined;
  /** Whether the provider refused the request because it has no proof of a key. */
  demandsDpop(): boolean;
  idToken(): string | undefined;
  accessToken(): string | undefined;
  /** The secrets of the request, which an answer may repeat. */
  secrets(): readonly string[];
}

const JSON_TYPE = { 'content-type': 'application/json' };

export function throughNetwork(network: Network, expected: ExpectedAnswer, trace?: Trace): LibraryRequest {
  let answer: NetworkAnswer | undefined;
  let document: JsonObject | undefined;
  let failure: NetworkFailure | undefined;
  let secrets: readonly string[] = [];
  let code = '';
  const fetch: CustomFetch = async (url, options) => {
    const form = new URLSearchParams(String(options.body));
    secrets = secretsIn(new Headers(options.headers), form);
    code = form.get('code') ?? '';
    try {
      // A provider that did see the first request refuses the repeated one: its code and its assertion are spent.
      answer = await sendAgainIfCut(network, () => ({
        method: 'POST',
        url,
        headers: options.headers,
        body: String(options.body),
        ...TOKEN_REQUEST,
        trace,
        purpose: 'sign_in',
      }));
    } catch (cause) {
      if (cause instanceof NetworkFailure) failure = cause;
      throw cause;
    }
    const status = isDocument(answer.status) ? expected.status : answer.status;
    const parsed = parseStrictJson(answer.body);
    if (!isJsonObject(parsed)) return new Response(null, { status, headers: JSON_TYPE });
    document = parsed;
    const read = expected.members.map((name) => [name, member(parsed, name) ?? undefined]);
    return new Response(JSON.stringify(Object.fromEntries(read)), { status, headers: JSON_TYPE });
  };
  return {
    fetch,
    answer: () => answer,
    document: () => document,
    failure: () => failure,
    demandsDpop: () => answer !== undefined && document !== undefined && demandsDpop(answer.status, document, code),
    idToken: () => document && textMember(document, 'id_token'),
    accessToken: () => document && textMember(document, 'access_token'),
    secrets: () => secrets,
  };
}
