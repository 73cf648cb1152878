/** The tool server's HTTP requests to the control plane. A failed request resolves with `undefined`, and never throws. */

import type { IncomingHttpHeaders } from 'node:http';
import { STATUS_LIST_TYPE } from '../../../../domain/tasks/status-list.ts';
import { isJsonObject, member, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import { trimOws } from '../../../../domain/trim-ows.ts';
import { fetchAnswer, MAX_RETRY_AFTER_SECONDS } from '../../http-answer.ts';
import type { CheckedIssuer, CheckedOptions } from './options.ts';

export interface PlaneAnswer {
  readonly status: number;
  readonly body: string;
  /** The `Retry-After` header, if it is well-formed (RFC 9110 §10.2.3); a minute if it names a later time. */
  readonly retryAfter: string | undefined;
}

interface ListAnswer extends PlaneAnswer {
  /** Whether the media type is that of a status list. */
  readonly isStatusList: boolean;
  readonly etag: string | undefined;
}

export interface ControlPlane {
  /**
   * `undefined` when no complete answer came.
   *
   * @param cause the headers of the request that causes this one
   */
  get(path: string, cause?: IncomingHttpHeaders): Promise<PlaneAnswer | undefined>;
  /** Sends a form. Otherwise like `get`. */
  post(
    path: string,
    form: Readonly<Record<string, string>>,
    cause?: IncomingHttpHeaders,
  ): Promise<PlaneAnswer | undefined>;
  /**
   * Fetches a status list. Caches must revalidate it: a cached list would be older than it may be. Otherwise like `get`.
   *
   * @param etag of the list that the caller has
   */
  statusList(path: string, etag: string | undefined, timeoutMs: number): Promise<ListAnswer | undefined>;
}

/** More than a list of 2^20 incompressible entries, which is 256 KiB before it is encoded twice in base64url. */
const MAX_LIST_BYTES = 512 * 1024;
const LIST_MEDIA_TYPE = `application/${STATUS_LIST_TYPE}`;

export function controlPlane({
  issuer,
  timeoutMs,
  fetch,
  startSpan,
  now,
}: Pick<CheckedIssuer, 'issuer' | 'fetch'> & Pick<CheckedOptions, 'timeoutMs' | 'startSpan' | 'now'>): ControlPlane {
  async function exchange(
    path: string,
    request: { readonly headers: Readonly<Record<string, string>>; readonly form?: Readonly<Record<string, string>> },
    cause: IncomingHttpHeaders | undefined,
    limits: { readonly timeoutMs: number; readonly maxBytes?: number },
  ): Promise<(PlaneAnswer & { readonly headers: Headers }) | undefined> {
    const { form } = request;
    const url = `${issuer}${path}`;
    const method = form === undefined ? 'GET' : 'POST';
    const span = startSpan({ method, url }, cause);
    const init = {
      method,
      headers: { ...request.headers, ...span.headers },
      ...(form && { body: new URLSearchParams(form) }),
    };
    const sent = fetchAnswer(fetch, url, init, limits.timeoutMs, limits.maxBytes);
    const answer = await sent.catch(() => undefined);
    span.end(answer?.status);
    if (answer === undefined) return undefined;
    const { status, headers, text } = answer;
    return { status, body: text, retryAfter: readRetryAfter(headers.get('retry-after'), now()), headers };
  }

  async function send(
    path: string,
    accept: string,
    cause: IncomingHttpHeaders | undefined,
    form?: Readonly<Record<string, string>>,
  ): Promise<PlaneAnswer | undefined> {
    const answer = await exchange(path, { headers: { accept }, ...(form && { form }) }, cause, { timeoutMs });
    return answer && { status: answer.status, body: answer.body, retryAfter: answer.retryAfter };
  }

  return {
    get: (path, cause) => send(path, 'application/json, application/jwk-set+json', cause),
    post: (path, form, cause) => send(path, 'application/json', cause, form),
    async statusList(path, etag, limitMs) {
      const conditional = etag === undefined ? {} : { 'if-none-match': etag };
      const headers = { accept: LIST_MEDIA_TYPE, 'cache-control': 'no-cache', ...conditional };
      const limits = { timeoutMs: limitMs, maxBytes: MAX_LIST_BYTES };
      const answer = await exchange(path, { headers }, undefined, limits);
      if (answer === undefined) return undefined;
      const [type = ''] = (answer.headers.get('content-type') ?? '').split(';');
      const isStatusList = trimOws(type).toLowerCase() === LIST_MEDIA_TYPE;
      return { ...answer, isStatusList, etag: answer.headers.get('etag') ?? undefined };
    },
  };
}

/** Accepts seconds or an HTTP date. Any other text is dropped, because a refusal repeats the header. */
function readRetryAfter(value: string | null, now: number): string | undefined {
  if (value === null) return undefined;
  const isSeconds = /^\d{1,9}$/.test(value);
  if (!isSeconds && !/^[A-Z][a-z]{2}, [0-9A-Za-z :]+ GMT$/.test(value)) return undefined;
  const seconds = isSeconds ? Number(value) : (Date.parse(value) - now) / 1000;
  return seconds > MAX_RETRY_AFTER_SECONDS ? String(MAX_RETRY_AFTER_SECONDS) : value;
}

export type Introspected =
  | { readonly kind: 'active' }
  | { readonly kind: 'not_active'; readonly revocationReason: string | undefined }
  | { readonly kind: 'unavailable'; readonly retryAfter: string | undefined };

/** The form of a revocation reason. Other text is not repeated to the client. */
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Asks whether a token is active now (RFC 7662; specification "Tool-server contract" 4). The answer is not cached, so a
 * revocation takes effect at the next call.
 *
 * @param token the token in `text`, and its verified claims
 * @param cause the headers of the request that carries it
 */
export async function introspect(
  plane: Pick<ControlPlane, 'post'>,
  token: { readonly text: string; readonly iss: string; readonly sub: string; readonly jti: string },
  cause?: IncomingHttpHeaders,
): Promise<Introspected> {
  const answer = await plane.post('/oauth2/introspect', { token: token.text }, cause);
  const body = answer?.status === 200 ? parseStrictJson(answer.body) : undefined;
  const active = isJsonObject(body) ? member(body, 'active') : undefined;
  if (!isJsonObject(body) || typeof active !== 'boolean') {
    return { kind: 'unavailable', retryAfter: answer?.retryAfter };
  }
  // An answer about another token must not make this token active. RFC 7662 §2.2: `iss` may be absent.
  const isSame = (name: 'iss' | 'sub' | 'jti') => member(body, name) === token[name];
  const isOfIssuer = isSame('iss') || member(body, 'iss') === undefined;
  if (active && isOfIssuer && isSame('sub') && isSame('jti')) return { kind: 'active' };
  const reason = active ? undefined : member(body, 'revocation_reason');
  const revocationReason = typeof reason === 'string' && REASON.test(reason) ? reason : undefined;
  return { kind: 'not_active', revocationReason };
}
