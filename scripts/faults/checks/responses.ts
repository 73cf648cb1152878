/**
 * Checks that a fault explains every response. A 503 must have `Retry-After`, a refusal must have a cause, no response may
 * be another 5xx, and no request may hang.
 */

import { TIMED_OUT } from '../load/session.ts';
import {
  endingsByTask,
  groupBy,
  isIndeterminate,
  type Losses,
  type Operation,
  type OperationKind,
} from '../operations.ts';

const EXPECTED: Readonly<Record<OperationKind, number>> = {
  exchange: 200,
  'exchange for another audience': 400,
  'exchange for a blocked person': 400,
  refresh: 200,
  introspect: 200,
  'revoke a token': 200,
  'revoke a grant': 200,
  'kill a task': 200,
  block: 200,
  provision: 201,
  deactivate: 200,
  activate: 200,
  'ask for approval': 200,
  'read what waits': 200,
  'say yes': 200,
  'say no': 200,
  'log out': 200,
  'disable by event': 202,
  register: 201,
  'disable an agent': 200,
};

/** The error and reason of a refresh after the end of its task. */
const TASK_ENDED: ReadonlySet<string | undefined> = new Set([
  'access_denied task_revoked',
  'access_denied sponsor_disabled',
]);

const ANSWERS: ReadonlySet<OperationKind> = new Set<OperationKind>(['say yes', 'say no']);

export function unexpectedResponses(operations: readonly Operation[]): Losses {
  const endingsOf = endingsByTask(operations);
  const answersOf = groupBy(
    operations.filter(({ kind }) => ANSWERS.has(kind)),
    ({ approval }) => approval,
  );
  const isExpected = (one: Operation): boolean => {
    if (isIndeterminate(one)) return one.status === 0 ? one.error !== TIMED_OUT : one.retryAfter !== undefined;
    if (one.status === EXPECTED[one.kind]) return true;
    const isEarlier = ({ began }: Operation) => began < one.ended;
    const isTaskEnded = endingsOf(one.task).some(isEarlier);
    if (ANSWERS.has(one.kind) && one.status === 409 && one.error === 'not_waiting') {
      return isTaskEnded || answersOf(one.approval).some((other) => other !== one && isEarlier(other));
    }
    return one.kind === 'refresh' && one.status === 400 && TASK_ENDED.has(one.error) && isTaskEnded;
  };
  return operations
    .filter((one) => !isExpected(one))
    .map(
      ({ kind, status, error = '', retryAfter = 'none' }) =>
        `"${kind}" was answered ${status} ${error} (Retry-After ${retryAfter})`,
    );
}
