/**
 * HTTP to the control plane: no redirects, a bound on the time of the whole exchange and on what is read of the answer.
 * Whatever goes wrong is an answer of its own kind, never an exception.
 */

import type { CheckedOptions } from './options.ts';

export interface PlaneAnswer {
  readonly status: number;
  readonly body: string;
  /** The header, when it says something that a `Retry-After` may say (RFC 9110 §10.2.3). */
  readonly retryAfter: string | undefined;
}

export interface ControlPlane {
  /** `undefined` when no whole answer came. */
  get(path: string): Promise<PlaneAnswer | undefined>;
  /** Sends a form. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<PlaneAnswer | undefined>;
}

/** A key set of dozens of keys, or the claims of the longest token, are less (decisions "Remote key sets"). */
const MAX_BYTES = 64 * 1024;

export function controlPlane({
  issuer,
  timeoutMs,
  fetch,
}: Pick<CheckedOptions, 'issuer' | 'timeoutMs' | 'fetch'>): ControlPlane {
  async function send(path: string, init: RequestInit): Promise<PlaneAnswer | undefined> {
    const aborting = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeoutMs);
    });
    try {
      // Elsewhere is not the control plane: a token sent there would be given away, and keys from there are nobody's.
      const response = fetch(`${issuer}${path}`, { ...init, redirect: 'error', signal: aborting.signal });
      // Also against a fetch that does not mind its signal.
      return await Promise.race([response.then(read), tooLate]);
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
      aborting.abort();
    }
  }

  return {
    get: (path) => send(path, { headers: { accept: 'application/json, application/jwk-set+json' } }),
    post: (path, form) =>
      send(path, { method: 'POST', body: new URLSearchParams(form), headers: { accept: 'application/json' } }),
  };
}

/** @throws when the body is too long, not UTF-8, or is cut off */
async function read(response: Response): Promise<PlaneAnswer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new RangeError('The answer is too long.');
    chunks.push(chunk);
  }
  const body = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  return { status: response.status, body, retryAfter: readRetryAfter(response.headers.get('retry-after')) };
}

/** Seconds, or a date. */
function readRetryAfter(value: string | null): string | undefined {
  const sensible = value !== null && (/^\d{1,9}$/.test(value) || /^[A-Z][a-z]{2}, [0-9A-Za-z :]+ GMT$/.test(value));
  return sensible ? value : undefined;
}
