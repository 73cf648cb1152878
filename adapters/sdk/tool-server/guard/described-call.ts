/**
 * Describes a call in the words of the guard's file to the person who has to approve it. The service behind the guard parses
 * the call again, in any language. The guard refuses a call that another parser could read otherwise, and one that the lines
 * cannot show whole. No person is asked about them.
 */

import { isLine, MAX_VALUE } from '../../../../domain/approvals/approval-request.ts';
import type { ApprovalText, DescribeCall, HttpCall, McpCall } from '../core/approval-text.ts';
import { canonicalJson } from '../core/call-digest.ts';
import { valueAt } from './argument-path.ts';
import { folded, isUnfolded } from './lookalikes.ts';
import type { Approval } from './read-configuration.ts';

/** The first line of a request. Its path or its query can say what the request does. */
export const REQUEST_LABEL = 'Request';

export function describeRequest(approval: Approval): DescribeCall<HttpCall> {
  return ({ method, target, body }) => described(approval, body, [[REQUEST_LABEL, `${method} ${target}`]]);
}

export function describeTool(approval: Approval): DescribeCall<McpCall> {
  return (call) => described(approval, call.arguments, []);
}

function described(
  { title, lines }: Approval,
  value: unknown,
  before: readonly (readonly [label: string, value: unknown])[],
): ApprovalText | false {
  if (isReadDifferently(value)) return false;
  const shown = [...before, ...lines.map(({ label, path }) => [label, valueAt(value, path)] as const)].map(
    ([label, each]) => ({ label, value: textOf(each) }),
  );
  return shown.every((line) => isLine(line.value, MAX_VALUE)) ? { title, lines: shown } : false;
}

/** A text as it is, any other value as JSON. What is absent has no text. */
function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : canonicalJson(value);
}

/**
 * Whether some parsers read another value. They round a whole number from 2^53, as this process may have done. They also take
 * one of two names for the other that differ only in letter case, or behind a NUL.
 */
function isReadDifferently(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  const names = Object.keys(value);
  const isAmbiguous =
    !Array.isArray(value) && (names.some(isUnfolded) || new Set(names.map(folded)).size < names.length);
  return isAmbiguous || Object.values(value).some(isReadDifferently);
}
