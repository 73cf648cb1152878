/**
 * Checks that the ledger matches the answers about tasks and tokens. A request without a response, or with a 503, may or
 * may not have had its effect. The run has ended every task, so the ledger has every end and every sum of renewals.
 */

import {
  endingsByTask,
  groupBy,
  type History,
  isIndeterminate,
  isSuccess,
  type LedgerLine,
  type Losses,
  type Operation,
  type OperationKind,
} from '../operations.ts';

export interface Issued {
  readonly losses: Losses;
  /** The number of tasks from exchanges whose responses did not arrive. No client has their tokens and grants. */
  readonly leftBehind: number;
}

/**
 * Checks that every exchange answered 200 has exactly one `token.issued`, with its token, task, agent and person. Every
 * `token.issued` must belong to an exchange that was answered with this token, or whose outcome is unknown.
 */
export function issuedTokens({ operations, lines }: History): Issued {
  const records = lines.filter(({ event }) => event === 'token.issued');
  const exchanges = operations.filter(({ kind }) => kind === 'exchange');
  const recordsOf = groupBy(records, ({ sponsor }) => sponsor);
  const exchangeOf = groupBy(exchanges, ({ sub }) => sub);
  const losses: string[] = [];
  for (const exchange of exchanges) {
    const found = recordsOf(exchange.sub);
    if (exchange.status === 200 && !(found.length === 1 && found.every((record) => matches(record, exchange)))) {
      losses.push(`the token ${exchange.jti} was answered; its person has ${found.length} records, and none matches`);
    }
    if (found.length > 1) losses.push(`the person ${exchange.sub} has one exchange and ${found.length} records`);
  }
  let leftBehind = 0;
  for (const { sponsor, jti } of records) {
    const [exchange] = exchangeOf(sponsor);
    if (exchange === undefined) losses.push(`the token ${jti} is recorded without an exchange`);
    else if (isIndeterminate(exchange)) leftBehind += 1;
    else if (exchange.status !== 200) losses.push(`the token ${jti} is recorded, and its exchange was refused`);
  }
  if (new Set(records.map(({ jti }) => jti)).size < records.length) losses.push('two records name one token');
  return { losses, leftBehind };
}

function matches(record: LedgerLine, { jti, task, agent, sub }: Operation): boolean {
  return record.jti === jti && record.task_id === task && record.agent_id === agent && record.sponsor === sub;
}

/**
 * Checks that every refresh answered 200 is counted. A task's first `token.refreshed` and the sum at its end must count
 * these. They may count refreshes with unknown outcome too.
 */
export function renewals({ operations, lines }: History): Losses {
  const requestsOf = groupBy(
    operations.filter(({ kind }) => kind === 'refresh'),
    ({ task }) => task,
  );
  const records = lines.filter(({ event }) => event === 'token.refreshed');
  const recordsOf = groupBy(records, ({ task_id }) => task_id);
  const tasks = new Set(operations.flatMap(({ kind, task }) => (kind === 'refresh' && task) || []));
  const losses = records
    .filter(({ task_id }) => !tasks.has(task_id ?? ''))
    .map(({ task_id }) => `the task ${task_id} is recorded as renewed without a request`);
  for (const task of tasks) {
    const counted = recordsOf(task).reduce((sum, { count = 1 }) => sum + count, 0);
    const answered = requestsOf(task).filter(({ status }) => status === 200).length;
    const indeterminate = requestsOf(task).filter(isIndeterminate).length;
    if (counted < answered || counted > answered + indeterminate) {
      losses.push(
        `the task ${task} has ${counted} renewals in the ledger; ${answered} were answered and ${indeterminate} were not`,
      );
    }
    // Only the record of the first renewal names a token.
    const firsts = recordsOf(task).filter(({ jti }) => jti !== null);
    const isAnswered = firsts.every(({ jti }) => requestsOf(task).some((one) => one.jti === jti));
    if (firsts.length > 1 || (!isAnswered && indeterminate === 0)) {
      losses.push(`the task ${task} has ${firsts.length} records of its first renewal, or its token was not answered`);
    }
  }
  return losses;
}

/** The reason of a kill switch, and of the tasks that the run itself ends. */
const KILLED = 'operator_kill_switch';

/** The reason in the record of a task's end. */
const REASONS: ReadonlyMap<OperationKind, string> = new Map<OperationKind, string>([
  ['revoke a grant', 'client_revoked'],
  ['kill a task', KILLED],
  ['block', 'sponsor_blocked'],
  ['deactivate', 'scim_deactivated'],
  ['log out', 'sponsor_logged_out'],
  ['disable by event', 'ssf_account_disabled'],
]);

/** Checks that every task has exactly one record of its end, and that a request asked for this end. */
export function recordedEnds({ operations, lines }: History): Losses {
  const endingsOf = endingsByTask(operations);
  const recordsOf = groupBy(
    lines.filter(({ event }) => event === 'task.revoked' || event === 'task.expired'),
    ({ task_id }) => task_id,
  );
  const losses: string[] = [];
  for (const { task_id: task } of lines.filter(({ event }) => event === 'token.issued')) {
    const ends = recordsOf(task);
    if (ends.length !== 1) losses.push(`the task ${task} has ${ends.length} records of its end`);
    const reasons = [KILLED, ...endingsOf(task).map(({ kind }) => REASONS.get(kind))];
    for (const { event, reason } of ends) {
      if (event !== 'task.revoked' || !reasons.includes(reason ?? undefined)) {
        losses.push(`the end of the task ${task} is recorded as ${event} ${reason}, without such a request`);
      }
    }
  }
  return losses;
}

/**
 * Checks that an answered end is final: no later request got a renewal or `active: true`, and no tool server got another
 * state of an approval than `inactive`. No request may have got `active: false` or `inactive` before a request asked for an
 * end.
 */
export function finalEnds({ operations }: History): Losses {
  const endingsOf = endingsByTask(operations);
  const revocationsOf = groupBy(
    operations.filter(({ kind }) => kind === 'revoke a token'),
    ({ jti }) => jti,
  );
  const isAfter = (one: Operation, ends: readonly Operation[]) =>
    ends.filter(isSuccess).some(({ ended }) => ended < one.began);
  return operations.flatMap((one) => {
    const { kind, status, task, jti, active, state } = one;
    const ends = [...endingsOf(task), ...revocationsOf(jti)];
    if (kind === 'refresh' && status === 200 && isAfter(one, endingsOf(task))) {
      return [`the task ${task} was renewed after the response about its end`];
    }
    if (kind === 'introspect' && active === true && isAfter(one, ends)) {
      return [`the token ${jti} was active after the response about its end`];
    }
    if (kind === 'introspect' && active === false && !ends.some(({ began }) => began < one.ended)) {
      return [`the token ${jti} was inactive before any request for its end`];
    }
    if (state !== undefined && state !== 'inactive' && isAfter(one, ends)) {
      return [`an approval of the task ${task} was ${state} after the response about its end`];
    }
    if (state === 'inactive' && !ends.some(({ began }) => began < one.ended)) {
      return [`the approvals of the task ${task} were inactive before any request for its end`];
    }
    return [];
  });
}

/** Checks that every revoked token has one record. A token whose task had already ended needs none. */
export function revokedTokens({ operations, lines }: History): Losses {
  const revocations = operations.filter(({ kind }) => kind === 'revoke a token');
  const records = lines.filter(({ event }) => event === 'token.revoked');
  const recordsOf = groupBy(records, ({ jti }) => jti);
  const endingsOf = endingsByTask(operations);
  const requested = new Set(revocations.map(({ jti }) => jti));
  const losses = records
    .filter(({ jti }) => !requested.has(jti ?? undefined))
    .map(({ jti }) => `the token ${jti} is recorded as revoked without a request`);
  for (const one of revocations) {
    const count = recordsOf(one.jti).length;
    if (count > 1) losses.push(`the revocation of the token ${one.jti} is recorded ${count} times`);
    if (isSuccess(one) && count === 0 && !endingsOf(one.task).some(({ began }) => began < one.ended)) {
      losses.push(`the revocation of the token ${one.jti} was answered and has no record`);
    }
  }
  return losses;
}
