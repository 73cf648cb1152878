/** What a person reads before they approve a call: a title, and lines of a label and a value each. */

import type { ApprovalLine } from '../../../../domain/approvals/approval.ts';
import {
  isLine,
  MAX_LABEL,
  MAX_LINES,
  MAX_TITLE,
  MAX_VALUE,
  readDigest,
} from '../../../../domain/approvals/approval-request.ts';
import { isHeldByDouble, type SentJson, SentNumber } from '../../../../domain/tokens/json-as-sent.ts';
import { isObject } from '../../../../domain/tokens/strict-json.ts';
import { isBlank } from '../../../../domain/visible.ts';
import { type Checks, listOf, must, optional, optionsOf } from '../../arguments.ts';
import { withTimeout } from '../../http-answer.ts';
import { firstPart, type PartPath, shownPart } from './call-parts.ts';
import type { TaskTokenClaims } from './claims.ts';
import { type RefusalReason, RefusedCall } from './refusal.ts';

/** The control plane refuses control characters and line breaks. Its page shows bidirectional characters as visible signs. */
export interface ApprovalText {
  /** At most 120 characters. */
  readonly title: string;
  /** At most 10. Labels have at most 40 characters, values at most 200. */
  readonly lines?: readonly ApprovalLine[];
}

/** A call that a person has to approve: its digest, and its description. */
export interface CallToApprove extends ApprovalText {
  /** SHA-256 over all that the call does, in base64url. An approval is for this digest only. */
  readonly digest: string;
}

/** A call that a person has to approve, of a web framework. It is frozen, with all that it holds. */
export interface HttpCall {
  /** This server. */
  readonly audience: string;
  readonly method: string;
  /** The path with its query, as the client sent it. */
  readonly target: string;
  /** The parsed JSON of the body, which the handler gets as `request.body`; `undefined` without a body. */
  readonly body: unknown;
  readonly claims: TaskTokenClaims;
}

/** A call of an MCP tool that a person has to approve. It is frozen, with all that it holds. */
export interface McpCall {
  /** This server. */
  readonly audience: string;
  readonly tool: string;
  /** The arguments that the tool gets. They are not checked against the tool's schema. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly claims: TaskTokenClaims;
}

/** No person is asked: the call is decided as under the same policy without `approval`. */
export type NotNeeded = 'not_needed';

/** A call to approve, or what is decided about it without the person. */
export type ToApprove = CallToApprove | NotNeeded | RefusalReason | RefusedCall;

/**
 * Describes a call to the person who is asked. A member of a policy: with it, every call needs an approval, unless the function
 * answers `not_needed`. `false` refuses the call as `arguments_refused`, and no person is asked.
 */
export type DescribeCall<Call> = (
  call: Call,
) => ApprovalText | false | NotNeeded | Promise<ApprovalText | false | NotNeeded>;

/**
 * As `DescribeCall`. It also gets the JSON of the call as it was sent, or `undefined` without JSON. It may say why it refuses
 * the call, and that it cannot decide.
 */
export type DescribeSentCall<Call> = (call: Call, sent: SentJson | undefined) => Described | Promise<Described>;
type Described = ApprovalText | false | NotNeeded | 'policy_unavailable' | RefusedCall;

/** Agents wait for the answer, and clients time out after a minute. */
const DESCRIBE_TIMEOUT_MS = 5000;

const shown = (most: number) =>
  must(
    `be a text of 1 to ${most} characters that is not blank, without control characters and line breaks`,
    (value) => {
      return typeof value === 'string' && value.isWellFormed() && isLine(value, most);
    },
  );

export const titleCheck = shown(MAX_TITLE);
export const labelCheck = shown(MAX_LABEL);

const LINES = listOf(optionsOf({ label: labelCheck, value: shown(MAX_VALUE) }));

/** The control plane would refuse every wrong call with one sentence. */
export const CALL_TO_APPROVE = optionsOf({
  digest: must('be a SHA-256 in base64url', (value) => typeof value === 'string' && readDigest(value) !== undefined),
  title: titleCheck,
  lines: optional((value, name) =>
    Array.isArray(value) && value.length > MAX_LINES
      ? [`${name} must be a list of at most ${MAX_LINES} lines`]
      : LINES(value, name),
  ),
} satisfies Checks<CallToApprove>);

/**
 * The call to approve. Its text is checked before the request is signed. A number that a double rounds is refused, also if no
 * approval is needed: `describe` has seen the rounded number, and the next reader of the call may read another one.
 *
 * @param call is frozen
 * @param sent the JSON of the call as it was sent; `undefined` without one
 * @throws Error without a part of the call: if `describe` throws, is late, or answers what it must not
 */
export async function callToApprove<Call>(
  digest: string,
  describe: DescribeSentCall<Call>,
  call: Call,
  sent: SentJson | undefined,
): Promise<ToApprove> {
  const late = () => new Error(`approval did not answer within ${DESCRIBE_TIMEOUT_MS} ms.`);
  const text = await withTimeout(DESCRIBE_TIMEOUT_MS, described(describe, call, sent), late);
  if (text === false) return 'arguments_refused';
  if (text instanceof RefusedCall || text === 'policy_unavailable') return text;
  const rounded = sent === undefined ? undefined : roundedPart(sent);
  if (rounded !== undefined) {
    const part = shownPart(rounded);
    return new RefusedCall(`A number has more digits, or another sign, than every reader keeps: ${part}.`);
  }
  if (text === 'not_needed') return text;
  // A text would count as an object with a member for each character.
  if (!isObject(text)) throw new Error("approval must answer { title, lines }, 'not_needed' or false.");
  const unshown = unshownLine(text);
  return unshown === undefined ? { ...text, digest } : new RefusedCall(unshown);
}

/** The values of lines come from the call, so a value that cannot be shown is a fault of the call. All else is one of the policy. */
function unshownLine(text: Partial<ApprovalText>): string | undefined {
  const lines: unknown = text.lines;
  if (!Array.isArray(lines)) return undefined;
  for (const line of lines) {
    const { label, value }: { readonly label?: unknown; readonly value?: unknown } = line ?? {};
    if (typeof label !== 'string' || labelCheck(label, '').length > 0) continue;
    if (value === undefined) return `The line ${label} has no value.`;
    const problem = typeof value === 'string' ? problemOfLine({ label, value }) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Why the value of a line cannot be shown, in a sentence without the value; `undefined` if it can.
 *
 * @param part where the value is in the call, behind a colon
 */
export function problemOfLine({ label, value }: ApprovalLine, part = ''): string | undefined {
  if (isBlank(value)) return `The line ${label} is blank${part}.`;
  if (value.length > MAX_VALUE) return `The line ${label} is longer than ${MAX_VALUE} characters${part}.`;
  return isLine(value, MAX_VALUE) ? undefined : `The line ${label} has control characters or line breaks${part}.`;
}

/** The path to the first number that is another one as a double, or `undefined`. */
export function roundedPart(value: SentJson): PartPath | undefined {
  return firstPart(value, (part) => (part instanceof SentNumber && !isHeldByDouble(part.text) ? [] : undefined));
}

async function described<Call>(
  describe: DescribeSentCall<Call>,
  call: Call,
  sent: SentJson | undefined,
): Promise<Described> {
  try {
    return await describe(call, sent);
  } catch {
    // The cause is dropped, because it may quote the call.
    throw new Error('approval threw an error.');
  }
}
