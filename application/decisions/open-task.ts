/** Opens a task with its grant and first token (specification "POST /oauth2/token", Exchange). */

import type { Agent } from '../../domain/agents/agent.ts';
import {
  type Authorization,
  type CodeHash,
  requestDetail,
  type VoidReason,
} from '../../domain/authorization/authorization.ts';
import type { SpentOffer } from '../../domain/delegation/offer.ts';
import type { RequestId, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isWithin } from '../../domain/scope.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import type { StatedPurpose } from '../../domain/tasks/purpose.ts';
import type { StatusReference } from '../../domain/tasks/status-list.ts';
import type { Delegator, GrantHash, Task } from '../../domain/tasks/task.ts';
import { assertionLocks, assertionQuestions, isUsedUpBy, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { type ChainObstacle, chainLocks, chainQuestions, findChainObstacle, type JudgedAncestor } from './delegated.ts';
import { type Effect, recorded } from './effect.ts';
import { type Answers, ask, type StatusCandidates } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface TaskOpening {
  readonly task: Task;
  readonly grantHash: GrantHash;
  /** `undefined` for a client that authenticated by its `client_id` alone. */
  readonly assertion?: SpentAssertion | undefined;
  /** The revision against which the request was checked. */
  readonly agentRevision: Agent['revision'];
  /**
   * Set if remembered logouts refuse tasks: the `iat` of the subject token (`log-out.ts`, `remember`), and the time by
   * which a logout is forgotten: the earlier of two clocks (supplement "Clocks").
   */
  readonly refuseLoggedOut?: (Pick<Person, 'issuedAt'> & { readonly earliest: Instant }) | undefined;
  /** Set if the task gets an index of a status list: `StatusDraws`. */
  readonly statusDraws?: readonly number[] | undefined;
  /** In place of `statusDraws`: the task gets the first of these indices that no task has. */
  readonly statusCandidates?: StatusCandidates | undefined;
  /** The `token.issued` entry. */
  readonly entry: LedgerEntry;
  /** Set if the agent stated a purpose, with the `purpose.stated` entry. */
  readonly purpose?: { readonly stated: StatedPurpose; readonly entry: LedgerEntry } | undefined;
  /** Set if the task begins with a code, which it spends. The task has the id that the code names. */
  readonly code?: PresentedCode | undefined;
  /** Set if another task delegates it (`task.delegatedBy`), with an offer, which it spends. */
  readonly delegation?: TakenOffer | undefined;
}

/** Why and how a task is delegated. */
export interface TakenOffer {
  /** The tasks of `task.delegatedBy`, in that order. */
  readonly ancestors: readonly JudgedAncestor[];
  readonly offer: SpentOffer;
  /** How many live tasks may be delegated directly from the parent. */
  readonly maxChildren: number;
  /** The `delegation.taken` entry. */
  readonly entry: LedgerEntry;
}

interface PresentedCode {
  readonly requestId: RequestId;
  readonly hash: CodeHash;
  /** The grant that the answer has, if the grant rotates (`domain/tasks/grant.ts`): SHA-256 of the whole of it. */
  readonly rotation?: GrantHash | undefined;
}

/**
 * Nothing is written unless the task is opened.
 * - `logged_out`, only with `refuseLoggedOut`: a remembered logout covers the task's session, or the person and the
 *   token was not issued after it. A token without `iat` counts as issued before.
 * - `parent_ended`, `narrowed`: a task above is not live, or has expired, by the new task's `createdAt`; or its scope has become less
 *   than the task's.
 * - `offer_spent`, `too_many_children`, `delegation_refused`: the offer was used before, the parent has too many live tasks under it,
 *   or the person does not let its agent delegate.
 * - `code_unknown`, `code_expired`, `code_spent`, `code_void`: the code is not stored, its time is up by `createdAt`, a task
 *   came from it before, or it went void.
 * - `no_status_index`: no free index was found. After `statusDraws`, open a list (`open-status-list.ts`) and try again.
 */
export type OpenVerdict =
  /** `entries`, only with `statusDraws`: the number of the list's indices. */
  | { readonly kind: 'opened'; readonly status?: StatusReference; readonly entries?: number }
  | { readonly kind: 'logged_out' | 'no_status_index' }
  | DelegationObstacle
  | CodeObstacle
  | Obstacle;

export type DelegationObstacle =
  | { readonly kind: 'offer_spent' | 'too_many_children' | 'delegation_refused' }
  | ChainObstacle;

export type CodeObstacle =
  | { readonly kind: 'code_unknown' | 'code_expired' }
  | { readonly kind: 'code_spent'; readonly taskId: TaskId }
  | { readonly kind: 'code_void'; readonly reason: VoidReason };

/** A block, kill switch or logout that commits first refuses the task. One that comes later waits, and ends the task. */
export const openTask = decision({
  name: 'open_task',
  transaction: 'shared',

  locks: ({ task, assertion, code, delegation }: TaskOpening) => [
    shared('sponsor', task.sponsorKey),
    // A logout names `sub` only. If `sub` is the sponsor key, the lock above covers it.
    ...(task.sponsor === task.sponsorKey ? [] : [shared('subject', task.sponsor)]),
    ...(task.sessionId === undefined ? [] : [shared('session', task.sessionId)]),
    shared('agent', task.agentId),
    ...assertionLocks(assertion),
    ...(delegation === undefined ? [] : delegationLocks(task, delegation)),
    ...(code === undefined ? [] : [exclusive('authorization', code.requestId)]),
  ],

  asks: ({ task, assertion, code, delegation, refuseLoggedOut, statusDraws, statusCandidates }) => ({
    revision: ask('agent_revision', task.agentId),
    spent: assertionQuestions(assertion),
    blocks: ask('blocks', task.sponsorKey),
    logouts: refuseLoggedOut === undefined ? [] : logoutQuestions({ ...task, subject: task.sponsor }),
    ...chainQuestions(delegation?.ancestors ?? []),
    ...delegationQuestions(task, delegation),
    authorization: code && ask('authorization', code.requestId),
    slot: statusDraws && ask('status_slot', { audience: task.audience, draws: statusDraws }),
    taken: statusCandidates && ask('taken_status_indices', statusCandidates),
  }),

  judge: (opening, facts): Judgement<OpenVerdict> => {
    const { task, grantHash, assertion, agentRevision, refuseLoggedOut, statusDraws, statusCandidates } = opening;
    const { entry, purpose, code, delegation } = opening;
    const refused = (verdict: OpenVerdict): Judgement<OpenVerdict> => ({ verdict, effects: [] });
    const obstacle = findObstacle(agentRevision, facts);
    if (obstacle !== undefined) return refused(obstacle);
    const unusable = code && findCodeObstacle(code, task, facts.authorization);
    if (unusable !== undefined) return refused(unusable);
    if (refuseLoggedOut && isLoggedOut(facts.logouts, refuseLoggedOut.issuedAt, refuseLoggedOut.earliest)) {
      return refused({ kind: 'logged_out' });
    }
    const notDelegated = findDelegationObstacle(opening, facts);
    if (notDelegated !== undefined) return refused(notDelegated);
    const status = facts.slot
      ? firstOf(facts.slot.listId, facts.slot.free)
      : statusCandidates && firstOf(statusCandidates.listId, statusCandidates.indices, facts.taken);
    if ((statusDraws ?? statusCandidates) !== undefined && status === undefined) {
      return refused({ kind: 'no_status_index' });
    }
    const { entries } = facts.slot ?? {};
    return {
      verdict: { kind: 'opened', ...(status && { status }), ...(entries && { entries }) },
      effects: [
        ...spend(assertion, facts.spent),
        ...(delegation === undefined
          ? []
          : spend(offerAsAssertion(task, delegation.offer), [facts.offerSpent === true])),
        { effect: 'insert_task', task: status === undefined ? task : { ...task, status }, grantHash },
        ...(purpose === undefined
          ? []
          : [{ effect: 'insert_purpose', taskId: task.taskId, ...purpose.stated } as const]),
        ...(code === undefined ? [] : spendCode(code, grantHash)),
        ...recorded([
          entry,
          ...(purpose === undefined ? [] : [purpose.entry]),
          ...(code === undefined ? [] : [authorizedEntry(code, entry)]),
          ...(delegation === undefined ? [] : [delegation.entry]),
        ]),
      ],
    };
  },
});

/** The offer's parent, whose agent made it. */
function parentIn({ delegatedBy }: Task): Delegator {
  const [parent] = delegatedBy;
  if (parent === undefined) throw new Error('a task with an offer has no parent');
  return parent;
}

/**
 * An offer is spent like an assertion of the agent that made it, so it counts as spent after a restore too (`fact.ts`). No assertion
 * with such a `jti` does more than spend the agent's own offer.
 */
function offerAsAssertion(task: Task, { offerId, ...times }: SpentOffer): SpentAssertion {
  return { agentId: parentIn(task).agentId, jti: offerId, ...times };
}

function delegationLocks(task: Task, { ancestors, offer }: TakenOffer) {
  return [...assertionLocks(offerAsAssertion(task, offer)), ...chainLocks(ancestors, task.agentId, 'exclusive')];
}

function delegationQuestions(task: Task, delegation: TakenOffer | undefined) {
  if (delegation === undefined) return { offerSpent: undefined, children: undefined, isRefused: undefined };
  const { taskId, agentId } = parentIn(task);
  const [spent] = assertionQuestions(offerAsAssertion(task, delegation.offer));
  return {
    offerSpent: spent,
    children: ask('live_children', { taskId, at: task.createdAt }),
    isRefused: ask('delegation_refused', { sponsorKey: task.sponsorKey, agentId }),
  };
}

/** The first that applies: a task above that has ended is no secret, and an offer is spent only by a task. */
function findDelegationObstacle(
  { task, delegation, assertion }: TaskOpening,
  facts: Answers<ReturnType<typeof delegationQuestions> & ReturnType<typeof chainQuestions>>,
): DelegationObstacle | undefined {
  if (task.delegatedBy.length !== (delegation?.ancestors.length ?? 0)) return { kind: 'parent_ended' };
  if (delegation === undefined) return undefined;
  // An agent that delegates to itself may have named its assertion like the offer: one row cannot spend both.
  const isNamedAlike = isUsedUpBy(assertion, offerAsAssertion(task, delegation.offer));
  if (facts.offerSpent === true || isNamedAlike) return { kind: 'offer_spent' };
  const obstacle = findChainObstacle(delegation.ancestors, facts, { scope: task.scope, at: task.createdAt });
  if (obstacle !== undefined) return obstacle;
  if (facts.isRefused === true) return { kind: 'delegation_refused' };
  return (facts.children ?? 0) >= delegation.maxChildren ? { kind: 'too_many_children' } : undefined;
}

/** The first that applies, in the order of the checks: a code that is presented again is a sign of theft, also after its time. */
function findCodeObstacle(
  { hash }: PresentedCode,
  task: Task,
  authorization: Authorization | undefined,
): CodeObstacle | undefined {
  const code = authorization?.code;
  if (authorization === undefined || code?.hash !== hash) return { kind: 'code_unknown' };
  const { state, voidReason } = authorization;
  if (state === 'spent') return { kind: 'code_spent', taskId: code.taskId };
  if (state !== 'allowed') return { kind: 'code_void', reason: voidReason ?? 'request_expired' };
  if (code.expiresAt <= task.createdAt) return { kind: 'code_expired' };
  const { agentId, audience, person } = authorization;
  const isAllowed =
    task.taskId === code.taskId &&
    task.agentId === agentId &&
    task.audience === audience &&
    task.sponsorKey === person.sponsorKey &&
    task.sponsor === person.subject &&
    task.sessionId === person.sessionId &&
    isWithin(task.scope, code.scope) &&
    task.expiresAt <= code.taskEndsAt;
  if (!isAllowed) throw new Error('a task would be another than its person allowed');
  return undefined;
}

function spendCode({ requestId, rotation }: PresentedCode, grantHash: GrantHash): readonly Effect[] {
  return [
    { effect: 'spend_authorization', requestId },
    ...(rotation === undefined
      ? []
      : [{ effect: 'rotate_grant', grantHash, current: rotation, previous: undefined } as const]),
  ];
}

/** Names what `token.issued` names, except for the token. */
function authorizedEntry(code: PresentedCode, { jti: _, ...issued }: LedgerEntry): LedgerEntry {
  return { ...issued, event: 'task.authorized', detail: requestDetail(code) };
}

function firstOf(
  listId: string,
  indices: readonly number[],
  taken: readonly number[] = [],
): StatusReference | undefined {
  const index = indices.find((one) => !taken.includes(one));
  return index === undefined ? undefined : { listId, index };
}
