/**
 * The life of a task in time: a bar for the task and for each of its tokens (`tokenEnd`), and what was decided about it.
 */

import { type Approval, type ApprovalState, WORDS_CHANGED } from '../../../domain/approvals/approval.ts';
import { stepOfRecord } from '../../../domain/approvals/approval-records.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../../domain/instant.ts';
import { readOffered, readTaken } from '../../../domain/ledger/delegation-records.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { acceptedUntil, endReasonOf, tokenEnd } from '../../../domain/tasks/lifetime.ts';
import type { Task, TaskState } from '../../../domain/tasks/task.ts';

export interface TimedTask extends Pick<Task, 'createdAt' | 'expiresAt'> {
  readonly state: TaskState;
  /** Successful refreshes so far. */
  readonly renewals: number;
  /** The last refresh; `undefined` before the first. */
  readonly renewedAt: Instant | undefined;
}

/** How long tokens of the task live, in seconds. */
export interface TokenTtl {
  /** The lifetime in the agent's registration; `undefined` if the agent has been removed. */
  readonly registered: number | undefined;
  /** When the registration last changed. An older token may have another lifetime. */
  readonly since: Instant | undefined;
  /** The longest that the service allows. */
  readonly longest: number;
}

export interface TokenBar {
  readonly kind: 'first' | 'renewed';
  readonly from: Instant;
  readonly until: Instant;
  /** `false`: the registration that says so was changed after the token was issued, or has been removed. */
  readonly isExact: boolean;
  readonly jti: string | undefined;
  /** When this token alone was revoked. */
  readonly revokedAt: Instant | undefined;
}

type TimelineEventKind =
  | 'authorized'
  | 'offered'
  | 'taken'
  | 'issued'
  | 'renewed'
  | 'narrowed'
  | 'renewals'
  | 'denied'
  | 'token_revoked'
  | 'approval'
  | 'ended'
  | 'expires';

export interface TimelineEvent {
  readonly kind: TimelineEventKind;
  readonly at: Instant;
  /** Space-separated. */
  readonly scope?: string | undefined;
  /** A machine-readable reason. */
  readonly reason?: string | undefined;
  /** How many renewals or denials it sums up. */
  readonly count?: number | undefined;
  /** The number of its record. */
  readonly seq?: number | undefined;
  /** Of an offer, the agent that may take it up; of a delegated task, the task above it. */
  readonly other?: string | undefined;
  /** The approval that began a state. */
  readonly approval?: { readonly approvalId: string; readonly state: ApprovalState } | undefined;
}

/** What the timeline shows of a stored approval. */
export type TimedApproval = Pick<
  Approval,
  'approvalId' | 'state' | 'requestedAt' | 'decidedAt' | 'closedAt' | 'wordsChanged'
>;

export interface Timeline {
  readonly from: Instant;
  /** The end of the last bar. */
  readonly until: Instant;
  readonly task: { readonly from: Instant; readonly until: Instant };
  /** Oldest first. Renewals that were only counted have no bars, except the last one. */
  readonly tokens: readonly TokenBar[];
  /** Tokens without a bar. */
  readonly unshown: number;
  /** Oldest first. */
  readonly events: readonly TimelineEvent[];
  /**
   * Until when tool servers that do not ask accept the last token (`acceptedUntil`), if that is after the task's end or the task
   * is live. `undefined` if no token outlives it.
   */
  readonly worksUntil: { readonly at: Instant; readonly isExact: boolean } | undefined;
}

/**
 * @param records of the task, oldest first; `undefined` without the role to read them
 * @param approvals of the task that are as the ledger has them. Shown in place of their records to an operator who may not read these
 */
export function timelineOf(
  task: TimedTask,
  ttl: TokenTtl,
  records: readonly LedgerRecord[] | undefined,
  now: Instant,
  approvals: readonly TimedApproval[] = [],
): Timeline {
  const tokens = tokenBars(task, ttl, records ?? []);
  const end = task.state.kind === 'live' ? undefined : task.state.at;
  const bar = { from: task.createdAt, until: end ?? task.expiresAt };
  const last = tokens.filter(({ revokedAt }) => revokedAt === undefined).reduce<TokenBar | undefined>(later, undefined);
  const accepted = last && acceptedUntil(last.until);
  const worksUntil =
    last !== undefined && accepted !== undefined && accepted > (end ?? now)
      ? { at: accepted, isExact: last.isExact }
      : undefined;
  const events =
    records === undefined
      ? [...storedEvents(task), ...approvals.flatMap(approvalEvents)]
      : recordedEvents(task, records);
  return {
    from: task.createdAt,
    until: Math.max(bar.until, ...tokens.map(({ until }) => until)) as Instant,
    task: bar,
    tokens,
    unshown: Math.max(0, task.renewals + 1 - tokens.length),
    events: [...events].sort((one, other) => one.at - other.at),
    worksUntil,
  };
}

function later(one: TokenBar | undefined, other: TokenBar): TokenBar {
  return one === undefined || other.until > one.until ? other : one;
}

function tokenBars(task: TimedTask, ttl: TokenTtl, records: readonly LedgerRecord[]): readonly TokenBar[] {
  const revoked = new Map(
    records.flatMap(({ event, decision, jti, at }) =>
      event === 'token.revoked' && decision === 'allow' && jti !== undefined ? [[jti, at] as const] : [],
    ),
  );
  const bar = (kind: TokenBar['kind'], from: Instant, jti: string | undefined): TokenBar => ({
    kind,
    from,
    jti,
    ...lifeOf(task, ttl, from),
    revokedAt: jti === undefined ? undefined : revoked.get(jti),
  });
  const issued = records.find(({ event }) => event === 'token.issued');
  // A summary (`count`) is about renewals that are over.
  const renewed = records.filter(({ event, count }) => event === 'token.refreshed' && count === undefined);
  const bars = [bar('first', task.createdAt, issued?.jti), ...renewed.map(({ at, jti }) => bar('renewed', at, jti))];
  const { renewedAt } = task;
  const isShown = renewedAt === undefined || bars.some(({ kind, from }) => kind === 'renewed' && from >= renewedAt);
  return isShown ? bars : [...bars, bar('renewed', renewedAt, undefined)];
}

/** In whole seconds, as the claims of the token have it. */
function lifeOf(
  task: TimedTask,
  { registered, since, longest }: TokenTtl,
  from: Instant,
): Pick<TokenBar, 'until' | 'isExact'> {
  return {
    until: instantFromSeconds(toSeconds(tokenEnd(from, registered ?? longest, task))),
    isExact: registered !== undefined && since !== undefined && since <= from,
  };
}

/** The events that follow from the stored task alone, for operators who may not read the ledger. */
function storedEvents(task: TimedTask): readonly TimelineEvent[] {
  const { createdAt, renewals, renewedAt } = task;
  return [
    { kind: 'issued', at: createdAt },
    ...(renewedAt === undefined
      ? []
      : [
          {
            kind: renewals > 1 ? 'renewals' : 'renewed',
            at: renewedAt,
            count: renewals > 1 ? renewals : undefined,
          } as const,
        ]),
    endOf(task),
  ];
}

function approvalEvents({
  approvalId,
  state,
  requestedAt,
  decidedAt,
  closedAt,
  wordsChanged,
}: TimedApproval): readonly TimelineEvent[] {
  const began = (at: Instant, of: ApprovalState) =>
    ({ kind: 'approval', at, approval: { approvalId, state: of } }) as const;
  return [
    began(requestedAt, 'pending'),
    ...(decidedAt === undefined ? [] : [began(decidedAt, state === 'refused' ? 'refused' : 'granted')]),
    ...(closedAt === undefined || state === 'refused'
      ? []
      : [{ ...began(closedAt, state), reason: wordsChanged ? WORDS_CHANGED : undefined }]),
  ];
}

function endOf({ state, expiresAt }: TimedTask): TimelineEvent {
  if (state.kind === 'live') return { kind: 'expires', at: expiresAt };
  return { kind: 'ended', at: state.at, reason: endReasonOf(state) };
}

function recordedEvents(task: TimedTask, records: readonly LedgerRecord[]): readonly TimelineEvent[] {
  let scope = records.find(({ event }) => event === 'token.issued')?.scope;
  const events = records.flatMap((record): readonly TimelineEvent[] => {
    const { event, at, seq, reason, count } = record;
    const about = { at, seq, scope: record.scope, reason, count };
    const approval = stepOfRecord(record);
    // A no is recorded as a denial.
    if (approval !== undefined) {
      // The reason of any other withdrawal is that of the end of the task, which is shown beside it.
      return [{ kind: 'approval', at, seq, approval, reason: reason === WORDS_CHANGED ? reason : undefined }];
    }
    if (record.decision === 'deny') return [{ ...about, kind: 'denied' }];
    switch (event) {
      case 'task.authorized':
        return [{ at, seq, kind: 'authorized' }];
      case 'delegation.offered':
        return [{ at, seq, scope: record.scope, kind: 'offered', other: readOffered(record)?.child }];
      case 'delegation.taken':
        return [{ at, seq, kind: 'taken', other: readTaken(record)?.parent }];
      case 'token.issued':
        return [{ ...about, kind: 'issued' }];
      case 'token.refreshed': {
        if (count !== undefined) return [{ ...about, kind: 'renewals' }];
        const isNarrowed = scope !== undefined && record.scope !== undefined && record.scope !== scope;
        scope = record.scope ?? scope;
        return [{ ...about, kind: isNarrowed ? 'narrowed' : 'renewed' }];
      }
      case 'token.revoked':
        return [{ ...about, kind: 'token_revoked' }];
      case 'task.revoked':
      case 'task.expired':
        return [{ ...about, kind: 'ended' }];
      default:
        return [];
    }
  });
  const hasEnd = events.some(({ kind }) => kind === 'ended');
  return hasEnd ? events : [...events, endOf(task)];
}
