/** Parameters and fields that the API of `/me` and its pages have in common. */

import type { MyAnswer } from '../../../application/me/my-approvals.ts';
import type { MyTasksCursor } from '../../../application/me/my-tasks.ts';
import { parseSays, SAYS_SENTENCE } from '../../../domain/approvals/person-says.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { parseTaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { decodeCanonical } from '../../../domain/tokens/canonical-base64url.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

/** The content of `next_after`: a task, and its end in microseconds unless it was listed as live. */
const POSITION = /^(\d{1,16} )?(task_\w{26})$/;

export function formatAfter({ endedAt, taskId }: MyTasksCursor): string {
  return Buffer.from(endedAt === undefined ? taskId : `${endedAt} ${taskId}`, 'latin1').toString('base64url');
}

export function parseAfter(text: string): MyTasksCursor | undefined {
  const bytes = decodeCanonical(text);
  const [, end, id = ''] = (bytes && POSITION.exec(Buffer.from(bytes).toString('latin1'))) ?? [];
  const taskId = parseTaskId(id);
  const micros = end === undefined ? undefined : Number(end);
  if (taskId === undefined || (micros !== undefined && !Number.isSafeInteger(micros))) return undefined;
  return { taskId, endedAt: micros === undefined ? undefined : instantFromMicros(micros) };
}

export const DECISION = 'decision';
export const COMMITMENT = 'commitment';
/** Why the person says no. */
export const REASON = 'reason';
const SHA256_HEX = /^[0-9a-f]{64}$/;

export function readAnswer(
  body: JsonObject,
): Omit<MyAnswer, 'approvalId'> | { readonly errors: readonly FieldError[] } {
  const { [DECISION]: answer, [COMMITMENT]: commitment, [REASON]: reason, ...others } = body;
  const errors = Object.keys(others).flatMap((name) => fieldErrors(name, 'Is not a field of an answer.'));
  const isAnswer = answer === 'approve' || answer === 'refuse';
  const isCommitment = typeof commitment === 'string' && SHA256_HEX.test(commitment);
  const says = typeof reason === 'string' ? parseSays(reason) : undefined;
  const reasonProblem = reason === undefined ? undefined : problemOf(answer, says);
  if (isAnswer && isCommitment && errors.length === 0 && reasonProblem === undefined) {
    return { answer, commitment, ...(says && { says }) };
  }
  return {
    errors: [
      ...errors,
      ...(isAnswer ? [] : fieldErrors(DECISION, 'Must be approve or refuse.')),
      ...(isCommitment ? [] : fieldErrors(COMMITMENT, 'Must be the commitment of the approval.')),
      ...(reasonProblem === undefined ? [] : fieldErrors(REASON, reasonProblem)),
    ],
  };
}

/** @param says what was read of the reason; `undefined` if it breaks the rules */
function problemOf(answer: unknown, says: string | undefined): string | undefined {
  if (answer === 'approve') return 'Is a field of a refusal only.';
  return says === undefined ? SAYS_SENTENCE : undefined;
}
