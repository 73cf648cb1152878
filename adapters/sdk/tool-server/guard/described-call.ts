/**
 * Describes a call in the words of the guard's file to the person who has to approve it. The service behind the guard parses
 * the call again, in any language. The guard refuses a call that another parser could read otherwise, and one that the lines
 * cannot show whole. No person is asked about them.
 */

import { type SentJson, writeAsSent } from '../../../../domain/tokens/json-as-sent.ts';
import type { Json } from '../../../../domain/tokens/strict-json.ts';
import type { AccessRequest, Objection } from '../core/access-request.ts';
import {
  type ApprovalText,
  type DescribeSentCall,
  type HttpCall,
  type McpCall,
  type NotNeeded,
  problemOfLine,
} from '../core/approval-text.ts';
import { shownPart } from '../core/call-parts.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import { isJsonText } from '../core/json-text.ts';
import { RefusedCall } from '../core/refusal.ts';
import { type ArgumentPath, valueAt } from './argument-path.ts';
import type { CallRules } from './call-rules.ts';
import { ambiguousPart, roundedPart } from './misread-parts.ts';
import type { Approval } from './value-kinds.ts';

/** The first line of a request. Its path or its query can say what the request does. */
export const REQUEST_LABEL = 'Request';

/** @param rules of the policy that has the approval */
export function describeRequest(approval: Approval, rules: Covering): DescribeSentCall<HttpCall> {
  // Many frameworks merge the query with the body, and the schema says nothing of it.
  const withQuery = { ...rules, covers: undefined };
  return ({ method, target, body }, sent) => {
    return described({ approval, rules: target.includes('?') ? withQuery : rules }, body, sent, [
      { label: REQUEST_LABEL, value: `${method} ${target}`, part: '' },
    ]);
  };
}

/** @param rules of the policy that has the approval */
export function describeTool(approval: Approval, rules: Covering): DescribeSentCall<McpCall> {
  return ({ arguments: args }, sent) => described({ approval, rules }, args, sent, []);
}

type Covering = Pick<CallRules, 'covers' | 'known'>;

interface Line {
  readonly label: string;
  readonly value: string;
  /** Where its value is in the call, behind a colon; empty for the request. */
  readonly part: string;
}

function described(
  { approval: { title, lines }, rules: { covers, known } }: { readonly approval: Approval; readonly rules: Covering },
  value: unknown,
  sent: SentJson | undefined,
  before: readonly Line[],
): ApprovalText | NotNeeded | 'policy_unavailable' | RefusedCall {
  const answer = sent === undefined ? undefined : covers?.(value as Json, sent);
  if (answer !== undefined) return answer;
  const values = lines.map(({ label, path }) => ({ label, path, value: valueAt(sent, path) as SentJson | undefined }));
  const shown = [
    ...before,
    ...values.map((line) => ({
      label: line.label,
      value: textOf(line.value),
      part: `: ${shownPart(line.path, known)}`,
    })),
  ];
  const problem =
    values.map((line) => problemOfValue(line, known)).find((found) => found !== undefined) ??
    shown.map((line) => problemOfLine(line, line.part)).find((found) => found !== undefined) ??
    problemOfRest(sent, known);
  if (problem !== undefined) return new RefusedCall(problem);
  return { title, lines: shown.map(({ label, value: text }) => ({ label, value: text })) };
}

/** A sentence with the label and the path of the file, and no part of the value. */
function problemOfValue(
  { label, path, value }: { readonly label: string; readonly path: ArgumentPath; readonly value: SentJson | undefined },
  known: ReadonlySet<string>,
): string | undefined {
  if (value === undefined) return `The line ${label} has no value: ${shownPart(path, known)}.`;
  const rounded = roundedPart(value);
  if (rounded !== undefined) {
    return `The line ${label} has a number that some readers round: ${shownPart([...path, ...rounded], known)}.`;
  }
  const alike = ambiguousPart(value);
  return (
    alike && `The line ${label} has two names that some readers take for one: ${shownPart([...path, ...alike], known)}.`
  );
}

function problemOfRest(sent: SentJson | undefined, known: ReadonlySet<string>): string | undefined {
  if (sent === undefined) return undefined;
  const rounded = roundedPart(sent);
  if (rounded !== undefined) {
    return `A value that no line shows has a number that some readers round: ${shownPart(rounded, known)}.`;
  }
  const alike = ambiguousPart(sent);
  return alike && `An object has two names that some readers take for one: ${shownPart(alike, known)}.`;
}

/**
 * A number as sent, a text as it is, any other value as JSON. A text that reads as JSON is in quotation marks, as in JSON:
 * `"1"` is no number. What is absent has no text.
 */
function textOf(value: SentJson | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' && !isJsonText(value) ? value : writeAsSent(value);
}

/** For the log: a call that is refused before a person is asked. Its event has the reason only. */
export interface UnshownCall {
  /** Given if a schema of the file refuses it, or did not decide in time, and not the lines. */
  readonly bySchema?: true;
  /** As in the event. */
  readonly route: string;
  /** The control plane of the task, if the file has a list of them. */
  readonly issuer?: string;
  readonly taskId: string | undefined;
  /** A sentence with a label of the file, and no value of the call. */
  readonly problem: string;
}

/** The same answer of the rules. It also reports a refused call. */
export function reportRefused(
  answer: Objection,
  { route, claims }: { readonly route: string; readonly claims: TaskTokenClaims },
  report: (call: UnshownCall) => void,
): Objection {
  const problem = problemOf(answer);
  if (problem !== undefined) report({ bySchema: true, route, issuer: claims.iss, taskId: claims.task?.id, problem });
  return answer;
}

type CheckCall = NonNullable<AccessRequest['approval']>;

/** The same check before a person is asked. It also reports each call that it refuses. */
export function reporting(check: CheckCall, route: string, report: (call: UnshownCall) => void): CheckCall {
  return async (claims) => {
    const answer = await check(claims);
    const problem = problemOf(answer);
    if (problem !== undefined) {
      const refused = { route, issuer: claims.iss, taskId: claims.task?.id, problem };
      report(answer === 'policy_unavailable' ? { ...refused, bySchema: true } : refused);
    }
    return answer;
  };
}

/** For the log. `undefined` for an answer that refuses nothing, or has no sentence. */
function problemOf(answer: unknown): string | undefined {
  if (answer instanceof RefusedCall) return answer.detail.unusable;
  return answer === 'policy_unavailable' ? 'The rules of the file did not decide in time.' : undefined;
}
