/**
 * Asks the admin API of a running service (specification "Admin API"), for a command. It retries while the service is busy,
 * follows no redirect, and shows no text of another program.
 */

import { AdminApiFailure } from '../../application/ports/admin-api.ts';
import { type Network, NetworkFailure, type NetworkRequest } from '../../application/ports/network.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { Secret } from '../../domain/secret.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleText } from '../../domain/visible.ts';

export interface AdminAccess {
  /** The service's address, without a trailing slash. */
  readonly server: string;
  /** The admin key, or an operator's access token. */
  readonly credential: Secret;
  readonly network: Network;
  /** Resolves after that many milliseconds. */
  readonly pause: (milliseconds: number) => Promise<unknown>;
}

/** For a request with its response. A healthy service decides about one agent faster. */
const TIMEOUT_MS = 10_000;
/** A registration is at most 64 KiB. With escapes the response may be several times as long. */
const MAX_BYTES = 1_048_576;
/** In this time the main bucket refills twenty permits (specification "Rate limiting"). */
const PAUSE_MS = 2000;
/** A minute and a half. A request succeeds earlier even with the lowest rate and a busy service. */
const MAX_ATTEMPTS = 45;

export interface ReadAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export interface Asking {
  /** Members of the JSON body. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Why an operator makes the change. */
  readonly reason?: string | undefined;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly maxAttempts?: number;
  /** Gets the body of an answer of a busy service. Returns whether the request made progress: attempts count anew. */
  readonly busy?: (body: JsonObject) => boolean;
}

export type Ask = (method: NetworkRequest['method'], path: string, asking?: Asking) => Promise<ReadAnswer>;

/**
 * Retries while the service is busy. A request that got 503 may have taken effect. The retried registration then finds the
 * agent, the retried change changes nothing, and the retried end of tasks ends none.
 */
export function adminApi(access: AdminAccess): Ask {
  return async (method, path, asking = {}) => {
    const { maxAttempts = MAX_ATTEMPTS, busy } = asking;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await askOnce(access, method, path, asking);
      const isBusy = answer.status === 429 || (answer.status === 503 && isTemporary(answer.body));
      if (!isBusy) return answer;
      if (busy?.(answer.body)) attempt = 0;
      if (attempt === maxAttempts) {
        throw new AdminApiFailure('The service was too busy for too long. Run the command again later.');
      }
      await access.pause(PAUSE_MS);
    }
  };
}

async function askOnce(
  { server, credential, network }: AdminAccess,
  method: NetworkRequest['method'],
  path: string,
  { fields, reason, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES }: Asking,
): Promise<ReadAnswer> {
  const body = fields === undefined ? {} : { body: JSON.stringify(fields) };
  const type: Readonly<Record<string, string>> = fields === undefined ? {} : { 'content-type': 'application/json' };
  const why: Readonly<Record<string, string>> =
    reason === undefined ? {} : { 'mandate-reason': encodeURIComponent(reason) };
  try {
    const answer = await network.send({
      method,
      url: `${server}${path}`,
      headers: { authorization: `Bearer ${credential.reveal()}`, accept: 'application/json', ...type, ...why },
      ...body,
      timeoutMs,
      maxBytes,
    });
    // The admin API repeats no credential. Its sentences are shown.
    if (answer.body.includes(credential.reveal())) throw new AdminApiFailure(notFromAdminApi(answer.status));
    return understood(answer.status, answer.body);
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new AdminApiFailure(`The service could not be reached. ${error.message}`);
  }
}

/** @throws AdminApiFailure for a response that does not come from the admin API */
function understood(status: number, text: string): ReadAnswer {
  if (status >= 300 && status < 400) {
    throw new AdminApiFailure(
      `The answer was a redirect (status ${status}), which is not followed: use the address that it names.`,
    );
  }
  // A 204 has no body.
  const body = status === 204 ? {} : parseStrictJson(text);
  // It may be a sign-in page, or an error page of a proxy. Its text is untrusted, so it is not shown.
  if (!isJsonObject(body) || (status >= 400 && member(body, 'status') !== status)) {
    throw new AdminApiFailure(notFromAdminApi(status));
  }
  return { status, body };
}

function notFromAdminApi(status: number): string {
  return `The response (status ${status}) is not from the admin API, but from another program at this address or from a proxy.`;
}

function isTemporary(body: JsonObject): boolean {
  return member(body, 'error') === 'temporarily_unavailable';
}

export function unexpected({ status }: ReadAnswer): AdminApiFailure {
  switch (status) {
    case 401:
      return new AdminApiFailure('The service does not accept this admin key.');
    case 503:
      return new AdminApiFailure('The admin API is disabled there: the service has no admin key.');
    default:
      return new AdminApiFailure(`The admin API answered with status ${status}.`);
  }
}

/** Longer than every sentence of the service. Longer text comes from another program. */
const MAX_SENTENCE = 500;
const MAX_FIELDS = 100;
const MAX_SENTENCES = 20;

/**
 * The errors of a refusal by the admin API (specification "Validation errors"), made safe for a terminal. A refusal
 * without fields gives one error without a field. Returns an empty list if the response has no sentence.
 */
export function readProblem(problem: JsonObject): readonly FieldError[] {
  const errors = member(problem, 'errors');
  if (isJsonObject(errors)) {
    return Object.entries(errors)
      .slice(0, MAX_FIELDS)
      .flatMap(([field, sentences]) =>
        (Array.isArray(sentences) ? sentences : [])
          .filter((sentence) => typeof sentence === 'string')
          .slice(0, MAX_SENTENCES)
          .map((sentence) => ({ field: showable(field), sentence: showable(sentence) })),
      );
  }
  const detail = member(problem, 'detail');
  return typeof detail === 'string' ? [{ field: '', sentence: showable(detail) }] : [];
}

function showable(text: string): string {
  return visibleText(text.slice(0, MAX_SENTENCE));
}
