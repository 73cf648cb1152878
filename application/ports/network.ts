/** Outgoing HTTP requests, with limits on time and size. */

import type { Instant } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';

export interface NetworkRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the whole request, from connecting to the last byte of the response. */
  readonly timeoutMs: number;
  /** A longer response body is a failure; reading stops there. */
  readonly maxBytes: number;
  /**
   * Fails instead of connecting to an address that is not public (loopback, private, link-local and the like), whether
   * it is in the URL or in DNS. A host with public and other addresses fails as well.
   */
  readonly publicOnly?: boolean;
  /** Opens a connection for this request alone, although an idle one may be open. */
  readonly newConnection?: boolean;
  /** The trace of the request that causes this one; sent to the server in `traceparent`. */
  readonly trace?: Trace | undefined;
  /** The purpose of the request, in one word: its span is named by it, because the URL may name a person. */
  readonly purpose?:
    | 'client'
    | 'keys'
    | 'metadata'
    | 'notice'
    | 'person'
    | 'records'
    | 'service_token'
    | 'sign_in'
    | 'witness';
}

export interface NetworkAnswer {
  readonly status: number;
  readonly body: string;
  /** The responder's clock, in whole seconds (RFC 9110 §6.6.1); `undefined` without a `Date` header. */
  readonly date?: Instant | undefined;
  /** `Retry-After` in whole seconds from now (RFC 9110 §10.2.3); `undefined` without a valid one. */
  readonly retryAfter?: number | undefined;
  /** How long the answer may be reused, in seconds from when the request was sent (RFC 9111 §4.2.1). Absent: not at all. */
  readonly freshness?: number;
  /** `Content-Type` in lowercase, without parameters (RFC 9110 §8.3.1). */
  readonly mediaType?: string | undefined;
}

/** Whether a provider sent the requested document. 203 is a 200 that a proxy has changed (RFC 9110 §15.3.4). */
export function isDocument(status: number): boolean {
  return status === 200 || status === 203;
}

/**
 * Thrown if there is no complete response: no connection, a time-out, a body that is too long or not UTF-8. A redirect
 * is a response. The message is fixed text with at most the operating system's error code.
 */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  /** Whether the server responded, but with an unreadable response. */
  readonly answered: boolean;
  /** Whether the connection broke before the first byte of a response, and the request was not sent again. */
  readonly cut: boolean;
  /** The status of an unreadable response. */
  readonly status: number | undefined;
  /** Whether the time limit ended the request. */
  readonly timedOut: boolean;

  constructor(
    message: string,
    options: ErrorOptions & Partial<Pick<NetworkFailure, 'answered' | 'cut' | 'status' | 'timedOut'>> = {},
  ) {
    super(message, options);
    this.answered = options.answered ?? false;
    this.cut = options.cut ?? false;
    this.timedOut = options.timedOut ?? false;
    this.status = options.status;
  }
}

/** Why a server did not give what it was asked for. */
export interface Problem {
  /** A sentence: fixed text with at most the error code of the server or of the operating system. */
  readonly problem: string;
  /** The status of its response; `undefined` without one. */
  readonly status?: number | undefined;
}

/** An HTTP client. It never follows a redirect, never sends cookies, and reads at most `maxBytes`. */
export interface Network {
  /** @throws NetworkFailure */
  send(request: NetworkRequest): Promise<NetworkAnswer>;
}

/**
 * Opens a connection to an http or https URL, with TLS for https, and sends nothing. Resolves with `undefined` on
 * success, otherwise with a sentence: fixed text with at most the operating system's error code.
 */
export type Reach = (url: string, limitMs: number) => Promise<string | undefined>;
