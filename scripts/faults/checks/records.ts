/**
 * Checks refusals, and acts upon people and agents: each answered one must have its record, and each record a request.
 * tasks.ts checks the records of tasks and tokens, approvals.ts those of approvals.
 */

import {
  groupBy,
  type History,
  isIndeterminate,
  isSuccess,
  type LedgerLine,
  type Losses,
  type Operation,
  type OperationKind,
} from '../operations.ts';
import { isOfApproval } from './approvals.ts';

interface Rule {
  readonly kind: OperationKind;
  /** Whether the response requires a record. */
  readonly isAnswered: (operation: Operation) => boolean;
  readonly isRecord: (line: LedgerLine) => boolean;
  /** The member of an operation that its record names. */
  readonly subject: 'sub' | 'agent' | 'task';
  /** Several answered operations upon one subject need only one record, because the later ones changed nothing. */
  readonly isIdempotent?: true;
}

const isRefused = ({ status }: Operation) => status === 400;
const record =
  (event: string, reason: string | null) =>
  (line: LedgerLine): boolean =>
    line.event === event && line.reason === reason;
/** The record of a refused exchange names no task. That of a refused refresh does. */
const deniedExchange = (reason: string) => (line: LedgerLine) =>
  line.task_id === null && record('token.denied', reason)(line);
const deniedRefresh = ({ event, task_id }: LedgerLine) => event === 'token.denied' && task_id !== null;

const RULES: readonly Rule[] = [
  { kind: 'refresh', isAnswered: isRefused, isRecord: deniedRefresh, subject: 'task' },
  {
    kind: 'exchange for another audience',
    isAnswered: isRefused,
    subject: 'sub',
    isRecord: deniedExchange('audience_not_allowed'),
  },
  {
    kind: 'exchange for a blocked person',
    isAnswered: isRefused,
    subject: 'sub',
    isRecord: deniedExchange('sponsor_disabled'),
  },
  // A repeated block has no record. But a block beside another source's block has one.
  { ...done('block', 'sub', 'sponsor.blocked', 'sponsor_blocked'), isIdempotent: true },
  done('deactivate', 'sub', 'sponsor.signal', 'scim_deactivated'),
  done('activate', 'sub', 'sponsor.signal', 'scim_reactivated'),
  done('log out', 'sub', 'sponsor.signal', 'sponsor_logged_out'),
  done('disable by event', 'sub', 'sponsor.signal', 'ssf_account_disabled'),
  done('register', 'agent', 'agent.registered', null),
  done('disable an agent', 'agent', 'agent.updated', 'changed:enabled'),
];

function done(kind: OperationKind, subject: 'sub' | 'agent', event: string, reason: string | null): Rule {
  return { kind, isAnswered: isSuccess, isRecord: record(event, reason), subject };
}

/** The column of a record that names the subject. */
const COLUMNS = { sub: 'sponsor', agent: 'agent_id', task: 'task_id' } as const;

const OF_TASKS = new Set(['token.issued', 'token.refreshed', 'token.revoked', 'task.revoked', 'task.expired']);
/** An anonymous denial, because the service could not decide the request. */
const isAnonymous = ({ event, task_id, sponsor }: LedgerLine) =>
  event === 'token.denied' && task_id === null && sponsor === null;

export function recordedActs({ operations, lines, agents }: History): Losses {
  return [
    ...RULES.flatMap((rule) => miscounted(rule, operations, lines)),
    ...withoutRequest({ operations, lines, agents }),
  ];
}

/** Counts the records of each subject. An operation with unknown outcome may have one record or none. */
function miscounted(rule: Rule, operations: readonly Operation[], lines: readonly LedgerLine[]): Losses {
  const { kind, isAnswered, isRecord, subject, isIdempotent = false } = rule;
  const own = operations.filter((one) => one.kind === kind);
  const ownOf = groupBy(own, (one) => one[subject]);
  const recordsOf = groupBy(lines.filter(isRecord), (line) => line[COLUMNS[subject]]);
  return [...new Set(own.map((one) => one[subject]))].flatMap((key) => {
    const answered = ownOf(key).filter(isAnswered).length;
    const indeterminate = ownOf(key).filter(isIndeterminate).length;
    const least = isIdempotent ? Math.min(answered, 1) : answered;
    const found = recordsOf(key).length;
    if (found >= least && found <= answered + indeterminate) return [];
    return [`"${kind}" for ${key}: ${answered} answered, ${indeterminate} unanswered, ${found} records`];
  });
}

function withoutRequest({ operations, lines, agents }: History): Losses {
  const requested = RULES.map((rule) => {
    const own = operations.filter(({ kind }) => kind === rule.kind);
    return { ...rule, subjects: new Set(own.map((one) => one[rule.subject])) };
  });
  const hasRequest = (line: LedgerLine): boolean =>
    (line.event === 'agent.registered' && agents.includes(line.agent_id ?? '')) ||
    requested.some(
      ({ isRecord, subjects, subject }) => isRecord(line) && subjects.has(line[COLUMNS[subject]] ?? undefined),
    );
  return lines
    .filter(
      (line) =>
        !OF_TASKS.has(line.event) &&
        !isOfApproval(line) &&
        !isAnonymous(line) &&
        !isOverload(line) &&
        !hasRequest(line),
    )
    .map(({ seq, event, reason }) => `the record ${seq}, ${event} ${reason}, has no request`);
}

/** For each event of a request without a permit, the operations that it may be about. */
const OVERLOADS: Readonly<Record<string, readonly OperationKind[]>> = {
  'token.denied': [
    ...(['exchange', 'exchange for another audience', 'exchange for a blocked person'] as const),
    ...(['refresh', 'introspect', 'revoke a token', 'revoke a grant', 'ask for approval'] as const),
  ],
  'admin.denied': ['kill a task', 'block', 'register', 'disable an agent'],
  'me.denied': ['read what waits', 'say yes', 'say no'],
  'scim.denied': ['provision', 'deactivate', 'activate'],
  'signal.denied': ['log out'],
  'ssf.denied': ['disable by event'],
};

function isOverload({ event, reason, sponsor, agent_id, task_id }: LedgerLine): boolean {
  return event in OVERLOADS && reason === 'overloaded' && sponsor === null && agent_id === null && task_id === null;
}

/**
 * Checks the number of requests that found no permit. They are answered 503, and recorded as sums without names. There may
 * be more 503 than records, because a request without a database also gets a 503.
 */
export function overloads({ operations, lines }: History): Losses {
  return Object.entries(OVERLOADS).flatMap(([event, kinds]) => {
    const recorded = lines
      .filter((line) => line.event === event && isOverload(line))
      .reduce((sum, { count = 1 }) => sum + count, 0);
    const most = operations.filter((one) => kinds.includes(one.kind) && isIndeterminate(one)).length;
    return recorded <= most ? [] : [`${event} overloaded is recorded ${recorded} times, of ${most} requests`];
  });
}
