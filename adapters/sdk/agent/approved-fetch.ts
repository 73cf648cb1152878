/**
 * Calls that a person has to approve: a tool server answers 403 `approval_required` with the address of the control plane's
 * page. The same call goes through once after the approval.
 */

import { isApprovalUri } from '../../../domain/approvals/approval.ts';
import { isJsonObject, parseStrictJson, textMember } from '../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { withTimeout } from '../http-answer.ts';
import { retryAfterMs } from './control-plane.ts';
import { ApprovalRequired } from './errors.ts';
import type { CheckedAgentOptions } from './options.ts';

/** @param approvalUri the control plane's page where the person approves or refuses the call */
export type OnApproval = (approvalUri: string) => void | Promise<void>;

export interface Waiting {
  readonly onApproval: OnApproval | undefined;
  readonly timeoutMs: number;
}

/** More than a refusal with the longest address. */
const MAX_LENGTH = 8 * 1024;

/** Why a body cannot be repeated, and what can. */
const SENT_ONCE =
  'task.fetch did not wait: the body can be sent only once, or differs each time. Pass text, bytes or a Blob.';

/**
 * Repeats the call until it is not refused for the lack of an approval. Once it waits for the person, it also outlasts a
 * control plane that is away, and too many calls that wait.
 *
 * @throws ApprovalRequired without `onApproval`, after the time limit, or if the body of the call can be sent only once
 */
export async function approvedFetch(
  options: CheckedAgentOptions,
  waiting: Waiting | undefined,
  send: () => Promise<Response>,
  { body, signal }: RequestInit,
): Promise<Response> {
  const { clock } = options;
  const { onApproval, timeoutMs = 0 } = waiting ?? {};
  const deadline = clock.now() + timeoutMs;
  const told = new Set<string>();
  for (;;) {
    const answer = await send();
    const lack = await lackOfApproval(options, answer);
    if (lack === undefined) return answer;
    const { uri, waitMs } = lack;
    const isLate = () => clock.now() + waitMs > deadline;
    if (uri === undefined && (told.size === 0 || isLate())) return answer;
    await answer.body?.cancel();
    if (uri !== undefined) {
      const required = new ApprovalRequired(uri, waitMs);
      if (onApproval === undefined) throw required;
      if (!isRepeatable(body)) throw new ApprovalRequired(uri, waitMs, SENT_ONCE);
      if (!told.has(uri)) {
        told.add(uri);
        const telling = async () => onApproval(uri);
        await abortable(() => withTimeout(deadline - clock.now(), telling(), () => required), signal);
      }
      if (isLate()) throw required;
    }
    await abortable(() => clock.sleep(waitMs), signal);
  }
}

/**
 * Reads a copy of the answer, so that the caller can read every other answer.
 *
 * @returns the address of the approval; without one, the tool server could not ask the control plane, or too many calls wait
 */
async function lackOfApproval(
  { issuer, clock, timeoutMs }: CheckedAgentOptions,
  answer: Response,
): Promise<{ readonly uri: string | undefined; readonly waitMs: number } | undefined> {
  const reason = REASONS[answer.status];
  const isJson = /^application\/json\b/i.test(answer.headers.get('content-type') ?? '');
  if (reason === undefined || !isJson) return undefined;
  const late = () => new Error('The answer did not come in time.');
  const reading = shortText(answer.clone());
  const body = parseStrictJson(await withTimeout(timeoutMs, reading, late).catch(() => ''));
  if (!isJsonObject(body) || textMember(body, 'reason') !== reason) return undefined;
  const waitMs = retryAfterMs(answer.headers.get('retry-after'), clock.now());
  if (reason !== 'approval_required') return { uri: undefined, waitMs };
  const uri = textMember(body, 'approval_uri');
  // Only the control plane's page is shown to a person: a tool server could name any other.
  return uri !== undefined && isApprovalUri(issuer, uri) ? { uri, waitMs } : undefined;
}

const REASONS: Readonly<Record<number, string>> = {
  403: 'approval_required',
  429: 'too_many_pending',
  503: 'approval_unavailable',
};

/** The text of the answer; the empty text if it is longer than a refusal, or not UTF-8. */
async function shortText(copy: Response): Promise<string> {
  const reader = copy.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || value === undefined) return readUtf8(Buffer.concat(chunks)) ?? '';
    length += value.length;
    if (length > MAX_LENGTH) break;
    chunks.push(value);
  }
  // Not awaited: it ends only when the caller has read or canceled the answer itself.
  void reader?.cancel().catch(() => undefined);
  return '';
}

/** A stream is used up by the first call, and every FormData is sent with another boundary, so as another call. */
function isRepeatable(body: RequestInit['body']): boolean {
  const isBytes = body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob;
  return body === undefined || body === null || typeof body === 'string' || body instanceof URLSearchParams || isBytes;
}

/** @throws the signal's reason as soon as it aborts, also while the work goes on */
async function abortable(work: () => Promise<void>, signal: RequestInit['signal']): Promise<void> {
  signal?.throwIfAborted();
  if (signal === undefined || signal === null) return work();
  const done = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal });
  });
  try {
    await Promise.race([aborted, work()]);
  } finally {
    done.abort();
  }
}
