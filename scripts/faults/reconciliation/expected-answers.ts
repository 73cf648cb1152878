/**
 * No answer is one that a fault does not excuse: a 503 says when to come back, a refusal has its cause, nothing is a 500,
 * and nobody who was heard is left without one for good.
 */

import { type Act, ENDINGS, isUnknown, type Kept } from '../load/kept.ts';
import { HUNG } from '../load/session.ts';
import { grouped, type Losses } from './evidence.ts';

const EXPECTED: Readonly<Record<Act, number>> = {
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
  'log out': 200,
  'disable by event': 202,
  register: 201,
  'disable an agent': 200,
};

const isAsOfEnded = ({ status, error }: Kept) =>
  status === 400 && (error === 'access_denied task_revoked' || error === 'access_denied sponsor_disabled');

export function unexpectedAnswers(kept: readonly Kept[]): Losses {
  const endingsOf = grouped(
    kept.filter(({ act }) => ENDINGS.has(act)),
    ({ task }) => task,
  );
  const isExcused = (one: Kept): boolean => {
    if (isUnknown(one)) return one.status === 0 ? one.error !== HUNG : one.retryAfter !== undefined;
    if (one.status === EXPECTED[one.act]) return true;
    return one.act === 'refresh' && isAsOfEnded(one) && endingsOf(one.task).some(({ began }) => began < one.ended);
  };
  return kept
    .filter((one) => !isExcused(one))
    .map(
      (one) => `"${one.act}" was answered ${one.status} ${one.error ?? ''} (Retry-After ${one.retryAfter ?? 'none'})`,
    );
}
