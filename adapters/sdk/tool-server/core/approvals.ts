/**
 * Asks the control plane whether the person approves a call: `POST /oauth2/approval` with the task token and a signed
 * description of the call. `granted` uses up the approval: the control plane answers it exactly once.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isApprovalUri } from '../../../../domain/approvals/approval.ts';
import { MAX_LIFETIME_SECONDS, MAX_REQUEST } from '../../../../domain/approvals/approval-request.ts';
import { describeDenial } from '../../../../domain/denial.ts';
import { isJsonObject, type Json, member, parseStrictJson, textMember } from '../../../../domain/tokens/strict-json.ts';
import { checkArguments } from '../../arguments.ts';
import { MAX_RETRY_AFTER_SECONDS, withTimeout } from '../../http-answer.ts';
import { type ApprovalKey, requestSigner } from './approval-key.ts';
import { CALL_TO_APPROVE, type CallToApprove, type NotNeeded, type ToApprove } from './approval-text.ts';
import type { TaskTokenClaims } from './claims.ts';
import type { ControlPlane, PlaneAnswer } from './control-plane.ts';
import { type RefusalDetail, type RefusalReason, RefusedCall } from './refusal.ts';

export type ApprovalAnswer =
  /** The person approved this call, and it was not let through before. */
  | { readonly kind: 'granted' }
  | { readonly kind: 'pending'; readonly uri: string; readonly retryAfter: string }
  /** `says`: why not, in the person's words. */
  | { readonly kind: 'refused'; readonly says: string | undefined }
  | { readonly kind: 'expired' | 'spent' | 'inactive' }
  | { readonly kind: 'too_many_pending' | 'unavailable'; readonly retryAfter: string | undefined };

export interface Approvals {
  /** @throws Error without a part of the call: if it is no such call, or its request cannot be signed or is too long */
  ask(
    token: { readonly text: string; readonly taskId: string },
    call: CallToApprove,
    cause?: IncomingHttpHeaders,
  ): Promise<ApprovalAnswer>;
}

/** An operator has to see it: the same call is refused until they change something. The message has no part of the call. */
export class ApprovalFault extends Error {}

export function approvals({
  key,
  plane,
  options: { issuer, audience, timeoutMs, now },
  report,
}: {
  /** Was accepted by `approvalKey`. */
  readonly key: ApprovalKey;
  readonly plane: Pick<ControlPlane, 'post'>;
  readonly options: {
    readonly issuer: string;
    readonly audience: string;
    readonly timeoutMs: number;
    readonly now: () => number;
  };
  readonly report: (error: unknown) => void;
}): Approvals {
  const sign = requestSigner(key);
  const late = () => new Error('The request for approval was not signed in time.');

  return {
    async ask({ text, taskId }, call, cause) {
      checkArguments('approval', call, CALL_TO_APPROVE);
      const { digest, title, lines = [] } = call;
      const seconds = Math.floor(now() / 1000);
      const times = { iat: seconds, exp: seconds + MAX_LIFETIME_SECONDS };
      const claims = { iss: audience, aud: issuer, ...times, jti: randomUUID(), task_id: taskId, digest, title, lines };
      const request = await withTimeout(timeoutMs, sign(claims), late);
      if (request.length > MAX_REQUEST) {
        throw new ApprovalFault(
          `The title and lines of an approval are too long: the request has over ${MAX_REQUEST} bytes.`,
        );
      }
      const answer = await plane.post('/oauth2/approval', { token: text, request }, cause);
      const read = readAnswer(answer, issuer);
      const problem = read.kind === 'unavailable' && answer !== undefined ? WRONG_SETUP[answer.status] : undefined;
      if (problem !== undefined) report(new ApprovalFault(`The control plane ${issuer} ${problem}`));
      return read;
    },
  };
}

/** The answers against which waiting does not help. */
const WRONG_SETUP: Readonly<Record<number, string>> = {
  400: 'refused a request for approval. Compare the approval key and the audience of this server with its setting Service:Approvals:Resources, and the clocks.',
  404: 'has no endpoint for approvals. Its setting Service:Approvals:Enabled switches it on.',
};

/** `slow_down` is also the error of rate limits, so only the sentence tells it. */
const TOO_MANY_PENDING = describeDenial('too_many_pending');

function readAnswer(answer: PlaneAnswer | undefined, issuer: string): ApprovalAnswer {
  const unavailable = { kind: 'unavailable', retryAfter: answer?.retryAfter } as const;
  const body = answer === undefined ? undefined : parseStrictJson(answer.body);
  if (
    answer?.status === 429 &&
    isJsonObject(body) &&
    textMember(body, 'error_description') === TOO_MANY_PENDING.sentence
  ) {
    return { kind: 'too_many_pending', retryAfter: answer.retryAfter };
  }
  if (answer?.status !== 200 || !isJsonObject(body)) return unavailable;
  const state = textMember(body, 'state');
  switch (state) {
    case 'refused':
      return { kind: 'refused', says: textMember(body, 'person_says') };
    case 'granted':
    case 'expired':
    case 'spent':
    case 'inactive':
      return { kind: state };
    case 'pending': {
      const uri = textMember(body, 'approval_uri');
      // The agent's client opens this address, or shows it to the person.
      if (uri === undefined || !isApprovalUri(issuer, uri)) return unavailable;
      return { kind: 'pending', uri, retryAfter: retryAfterOf(member(body, 'interval')) };
    }
    default:
      return unavailable;
  }
}

/** The interval in seconds, as a `Retry-After`. */
function retryAfterOf(interval: Json | undefined): string {
  const seconds = typeof interval === 'number' && interval > 1 ? Math.ceil(interval) : 1;
  return String(Math.min(seconds, MAX_RETRY_AFTER_SECONDS));
}

/**
 * Asks for the person's approval, and uses it up.
 *
 * @param text the token
 * @returns why the call lacks the approval; `undefined` if the person approved it; `not_needed` if no person is asked
 * @throws TypeError without an `approvalKey`
 */
export async function approvalFault(
  { asking, report }: { readonly asking: Approvals | undefined; readonly report: (error: unknown) => void },
  {
    describe,
    headers,
  }: {
    readonly describe: (claims: TaskTokenClaims) => Promise<ToApprove>;
    readonly headers: IncomingHttpHeaders | undefined;
  },
  claims: TaskTokenClaims,
  text: string,
): Promise<{ readonly reason: RefusalReason; readonly detail?: RefusalDetail } | NotNeeded | undefined> {
  if (asking === undefined)
    throw new TypeError('createToolServer has no approvalKey, so no approval can be asked for.');
  // Only a task has a person who can be asked.
  if (claims.task === undefined) return { reason: 'no_actor' };
  let answer: ApprovalAnswer;
  try {
    const call = await describe(claims);
    if (call === 'not_needed') return call;
    if (typeof call === 'string') return { reason: call };
    if (call instanceof RefusedCall) return call;
    answer = await asking.ask({ text, taskId: claims.task.id }, call, headers);
  } catch (error) {
    report(error);
    return { reason: 'policy_unavailable' };
  }
  switch (answer.kind) {
    case 'granted':
      return undefined;
    case 'pending':
      return { reason: 'approval_required', detail: { approvalUri: answer.uri, retryAfter: answer.retryAfter } };
    case 'refused':
      return { reason: 'approval_refused', ...(answer.says !== undefined && { detail: { personSays: answer.says } }) };
    case 'inactive':
      return { reason: 'not_active' };
    case 'too_many_pending':
      return { reason: 'too_many_pending', detail: answer };
    case 'unavailable':
      return { reason: 'approval_unavailable', detail: answer };
    default:
      return { reason: `approval_${answer.kind}` };
  }
}
