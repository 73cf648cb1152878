/** Sends an HTTP request to the control plane, and reads its whole answer, within limits of time and size. */

import { readMarkedUtf8 } from '../../domain/tokens/strict-utf8.ts';

/** More than a set of dozens of keys, or the claims of the longest token (supplement "Client assertions"). */
const MAX_BYTES = 64 * 1024;

/**
 * The longest heeded `Retry-After`, in seconds. The control plane sends a few seconds. A longer one comes from a proxy, such
 * as that of a maintenance page: it would outlast the outage, and a task that is not renewed ends.
 */
export const MAX_RETRY_AFTER_SECONDS = 60;

interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Follows no redirect: the request carries credentials or tokens for the control plane only, and keys from another address
 * must not be trusted.
 *
 * @param timeoutMs for the whole exchange with its body
 * @throws if the request fails, or the body is incomplete, late, over `maxBytes` or not UTF-8. The error may hold parts of
 * the request
 */
export async function fetchAnswer(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  maxBytes = MAX_BYTES,
): Promise<HttpAnswer> {
  const aborting = new AbortController();
  const exchange = async (): Promise<HttpAnswer> => {
    const response = await fetch(url, { ...init, redirect: 'error', signal: aborting.signal });
    const text = await readText(response, maxBytes);
    return { status: response.status, headers: response.headers, text };
  };
  try {
    return await withTimeout(timeoutMs, exchange(), () => new Error('The answer did not come in time.'));
  } finally {
    aborting.abort();
  }
}

/** Rejects with `tooLate()` after `ms`. It uses its own timer, because an injected `fetch` may ignore its signal. */
export async function withTimeout<Value>(ms: number, work: Promise<Value>, tooLate: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new RangeError('The answer is too long.');
    chunks.push(chunk);
  }
  // A proxy in front of the control plane may add a byte order mark to its own pages.
  const text = readMarkedUtf8(Buffer.concat(chunks));
  if (text === undefined) throw new TypeError('The answer is not UTF-8.');
  return text;
}
