/**
 * Describes a call in the words of the guard's file to the person who has to approve it. The service behind the guard parses
 * the call again, in any language. The guard refuses a call that another parser could read otherwise, and one that the lines
 * cannot show whole. No person is asked about them.
 */

import { isLine, MAX_VALUE } from '../../../../domain/approvals/approval-request.ts';
import {
  isHeldByDouble,
  isSentObject,
  type SentJson,
  SentNumber,
  writeAsSent,
} from '../../../../domain/tokens/json-as-sent.ts';
import { isBlank } from '../../../../domain/visible.ts';
import type { ApprovalText, DescribeSentCall, HttpCall, McpCall } from '../core/approval-text.ts';
import { folded, isUnfolded } from '../core/lookalikes.ts';
import { RefusedCall } from '../core/refusal.ts';
import { valueAt } from './argument-path.ts';
import type { Approval } from './value-kinds.ts';

/** The first line of a request. Its path or its query can say what the request does. */
export const REQUEST_LABEL = 'Request';

export function describeRequest(approval: Approval): DescribeSentCall<HttpCall> {
  return ({ method, target }, sent) => {
    return described(approval, sent, [{ label: REQUEST_LABEL, value: `${method} ${target}` }]);
  };
}

export function describeTool(approval: Approval): DescribeSentCall<McpCall> {
  return (_, sent) => described(approval, sent, []);
}

interface Line {
  readonly label: string;
  readonly value: string;
}

function described(
  { title, lines }: Approval,
  sent: SentJson | undefined,
  before: readonly Line[],
): ApprovalText | RefusedCall {
  const values = lines.map(({ label, path }) => ({ label, value: valueAt(sent, path) as SentJson | undefined }));
  const shown = [...before, ...values.map(({ label, value }) => ({ label, value: textOf(value) }))];
  const problem =
    values.map(({ label, value }) => problemOfValue(label, value)).find((found) => found !== undefined) ??
    shown.map(problemOfLine).find((found) => found !== undefined) ??
    problemOfRest(sent);
  return problem === undefined ? { title, lines: shown } : new RefusedCall(problem);
}

/** A sentence with the label of the file, and no part of the value. */
function problemOfValue(label: string, value: SentJson | undefined): string | undefined {
  if (value === undefined) return `The line ${label} has no value.`;
  if (holds(value, isRounded)) return `The line ${label} has a number that some readers round.`;
  const alike = namesAlike(value);
  return alike && `The line ${label} has two names that some readers take for one${shownName(alike)}.`;
}

function problemOfLine({ label, value }: Line): string | undefined {
  if (isBlank(value)) return `The line ${label} is blank.`;
  if (value.length > MAX_VALUE) return `The line ${label} is longer than ${MAX_VALUE} characters.`;
  return isLine(value, MAX_VALUE) ? undefined : `The line ${label} has control characters or line breaks.`;
}

function problemOfRest(sent: SentJson | undefined): string | undefined {
  if (sent === undefined) return undefined;
  if (holds(sent, isRounded)) return 'A value that no line shows has a number that some readers round.';
  const alike = namesAlike(sent);
  return alike && `An object has two names that some readers take for one${shownName(alike)}.`;
}

/**
 * A number as sent, a text as it is, any other value as JSON. A text that reads as JSON is in quotation marks, as in JSON:
 * `"1"` is no number. What is absent has no text.
 */
function textOf(value: SentJson | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' && !isJson(value) ? value : writeAsSent(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function holds(value: SentJson, test: (part: SentJson) => boolean): boolean {
  if (test(value)) return true;
  if (Array.isArray(value)) return value.some((item) => holds(item, test));
  return isSentObject(value) && Object.values(value).some((member) => holds(member, test));
}

/** Whether some readers find another number: as a double it is another one, or it is a whole number from 2^53. */
function isRounded(value: SentJson): boolean {
  if (!(value instanceof SentNumber)) return false;
  const double = Number(value.text);
  return !isHeldByDouble(value.text) || (Number.isInteger(double) && !Number.isSafeInteger(double));
}

/** The first names of an object of which some readers take one for another: they differ only in letter case, or behind a NUL. */
function namesAlike(value: SentJson): readonly string[] | undefined {
  const parts = Array.isArray(value) ? value : isSentObject(value) ? Object.values(value) : [];
  const own = isSentObject(value) ? alikeAmong(Object.keys(value)) : undefined;
  if (own !== undefined) return own;
  for (const part of parts) {
    const found = namesAlike(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function alikeAmong(names: readonly string[]): readonly string[] | undefined {
  const unfolded = names.find(isUnfolded);
  if (unfolded !== undefined) return [unfolded];
  const byFolded = new Map<string, string>();
  for (const name of names) {
    const key = folded(name);
    const earlier = byFolded.get(key);
    if (earlier !== undefined) return [earlier, name];
    byFolded.set(key, name);
  }
  return undefined;
}

/** A name is the client's own text. One that is no short word stays unnamed. */
const WORD = /^[A-Za-z_][\w-]{0,39}$/;

function shownName(names: readonly string[]): string {
  const word = names.find((name) => WORD.test(name));
  return word === undefined ? '' : `: ${word}`;
}

/** For the log: a call that is refused before a person is asked. Its event has the reason only. */
export interface UnshownCall {
  /** As in the event. */
  readonly route: string;
  /** The control plane of the task, if the file has a list of them. */
  readonly issuer?: string;
  readonly taskId: string | undefined;
  /** A sentence with a label of the file, and no value of the call. */
  readonly problem: string;
}

/** The same description. It also reports each call that it refuses. */
export function reporting<Call extends HttpCall | McpCall>(
  describe: DescribeSentCall<Call>,
  route: string,
  report: (call: UnshownCall) => void,
): DescribeSentCall<Call> {
  return async (call, sent) => {
    const text = await describe(call, sent);
    if (text instanceof RefusedCall) {
      const { iss: issuer, task } = call.claims;
      report({ route, issuer, taskId: task?.id, problem: text.detail.unusable ?? '' });
    }
    return text;
  };
}
