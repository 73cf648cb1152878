/** The tool server's HTTP requests to the control plane. A failed request answers `undefined` and never throws. */

import { fetchAnswer } from '../../http-answer.ts';
import type { CheckedOptions } from './options.ts';

export interface PlaneAnswer {
  readonly status: number;
  readonly body: string;
  /** The `Retry-After` header, if it is well-formed (RFC 9110 §10.2.3). */
  readonly retryAfter: string | undefined;
}

export interface ControlPlane {
  /** `undefined` when no complete answer came. */
  get(path: string): Promise<PlaneAnswer | undefined>;
  /** Sends a form. `undefined` when no complete answer came. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<PlaneAnswer | undefined>;
}

export function controlPlane({
  issuer,
  timeoutMs,
  fetch,
}: Pick<CheckedOptions, 'issuer' | 'timeoutMs' | 'fetch'>): ControlPlane {
  async function send(path: string, init: RequestInit): Promise<PlaneAnswer | undefined> {
    const answer = await fetchAnswer(fetch, `${issuer}${path}`, init, timeoutMs).catch(() => undefined);
    if (answer === undefined) return undefined;
    return { status: answer.status, body: answer.text, retryAfter: readRetryAfter(answer.retryAfter) };
  }

  return {
    get: (path) => send(path, { headers: { accept: 'application/json, application/jwk-set+json' } }),
    post: (path, form) =>
      send(path, { method: 'POST', body: new URLSearchParams(form), headers: { accept: 'application/json' } }),
  };
}

/** Seconds or an HTTP date; any other text is dropped, since a refusal repeats the header. */
function readRetryAfter(value: string | null): string | undefined {
  const sensible = value !== null && (/^\d{1,9}$/.test(value) || /^[A-Z][a-z]{2}, [0-9A-Za-z :]+ GMT$/.test(value));
  return sensible ? value : undefined;
}
