/**
 * Calls that a person has to approve: a tool server answers 403 `approval_required` with the address of the control plane's
 * page. The same call goes through once after the approval.
 */

import { isApprovalUri } from '../../../domain/approvals/approval.ts';
import { isJsonObject, parseStrictJson, textMember } from '../../../domain/tokens/strict-json.ts';
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

/**
 * Repeats the call until it is not refused for the lack of an approval.
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
  const deadline = clock.now() + (waiting?.timeoutMs ?? 0);
  const told = new Set<string>();
  for (;;) {
    const answer = await send();
    const required = await lackOfApproval(options, answer);
    if (required === undefined) return answer;
    if (waiting?.onApproval === undefined || !isRepeatable(body)) throw required;
    if (!told.has(required.approvalUri)) {
      told.add(required.approvalUri);
      await waiting.onApproval(required.approvalUri);
    }
    if (clock.now() + required.retryAfterMs > deadline) throw required;
    await abortable(clock.sleep(required.retryAfterMs), signal);
  }
}

/** Reads a copy of the answer, so that the caller can read every other answer. */
async function lackOfApproval(
  { issuer, clock, timeoutMs }: CheckedAgentOptions,
  answer: Response,
): Promise<ApprovalRequired | undefined> {
  const isJson = /^application\/json\b/i.test(answer.headers.get('content-type') ?? '');
  if (answer.status !== 403 || !isJson) return undefined;
  const late = () => new Error('The answer did not come in time.');
  const reading = shortText(answer.clone());
  const body = parseStrictJson(await withTimeout(timeoutMs, reading, late).catch(() => ''));
  if (!isJsonObject(body) || textMember(body, 'reason') !== 'approval_required') return undefined;
  const uri = textMember(body, 'approval_uri');
  // Only the control plane's page is shown to a person: a tool server could name any other.
  if (uri === undefined || !isApprovalUri(issuer, uri)) return undefined;
  await answer.body?.cancel();
  return new ApprovalRequired(uri, retryAfterMs(answer.headers.get('retry-after'), clock.now()));
}

/** The text of the answer; the empty text if it is longer than a refusal. */
async function shortText(copy: Response): Promise<string> {
  const reader = copy.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || value === undefined) return Buffer.concat(chunks).toString();
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
  const isBytes = body instanceof ArrayBuffer || ArrayBuffer.isView(body);
  return body === undefined || body === null || typeof body === 'string' || body instanceof URLSearchParams || isBytes;
}

async function abortable(work: Promise<void>, signal: RequestInit['signal']): Promise<void> {
  signal?.throwIfAborted();
  if (signal === undefined || signal === null) return work;
  const done = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    done.abort();
  }
}
