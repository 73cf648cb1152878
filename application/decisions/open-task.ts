/** Opens a task with its grant and first token (specification "POST /oauth2/token", Exchange). */

import type { Agent } from '../../domain/agents/agent.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { isTimeUp } from '../../domain/tasks/lifetime.ts';
import type { StatedPurpose } from '../../domain/tasks/purpose.ts';
import type { StatusReference } from '../../domain/tasks/status-list.ts';
import type { GrantHash, Task } from '../../domain/tasks/task.ts';
import { assertionLocks, assertionQuestions, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask, type StatusCandidates } from './fact.ts';
import { shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface TaskOpening {
  readonly task: Task;
  readonly grantHash: GrantHash;
  readonly assertion: SpentAssertion;
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
}

/**
 * Nothing is written unless the task is opened.
 * - `logged_out`, only with `refuseLoggedOut`: a remembered logout covers the task's session, or the person and the
 *   token was not issued after it. A token without `iat` counts as issued before.
 * - `parent_ended`: the parent task is not stored, is not live, or has expired by the new task's `createdAt`.
 * - `no_status_index`: no free index was found. After `statusDraws`, open a list (`open-status-list.ts`) and try again.
 */
export type OpenVerdict =
  /** `entries`, only with `statusDraws`: the number of the list's indices. */
  | { readonly kind: 'opened'; readonly status?: StatusReference; readonly entries?: number }
  | { readonly kind: 'logged_out' | 'parent_ended' | 'no_status_index' }
  | Obstacle;

/** A block, kill switch or logout that commits first refuses the task. One that comes later waits, and ends the task. */
export const openTask = decision({
  name: 'open_task',
  transaction: 'shared',

  locks: ({ task, assertion }: TaskOpening) => [
    shared('sponsor', task.sponsorKey),
    // A logout names `sub` only. If `sub` is the sponsor key, the lock above covers it.
    ...(task.sponsor === task.sponsorKey ? [] : [shared('subject', task.sponsor)]),
    ...(task.sessionId === undefined ? [] : [shared('session', task.sessionId)]),
    shared('agent', task.agentId),
    ...assertionLocks(assertion),
    ...(task.parentTaskId === undefined ? [] : [shared('task', task.parentTaskId)]),
  ],

  asks: ({ task, assertion, refuseLoggedOut, statusDraws, statusCandidates }) => ({
    revision: ask('agent_revision', task.agentId),
    spent: assertionQuestions(assertion),
    blocks: ask('blocks', task.sponsorKey),
    logouts: refuseLoggedOut === undefined ? [] : logoutQuestions({ ...task, subject: task.sponsor }),
    parent: task.parentTaskId && ask('task_state', task.parentTaskId),
    slot: statusDraws && ask('status_slot', { audience: task.audience, draws: statusDraws }),
    taken: statusCandidates && ask('taken_status_indices', statusCandidates),
  }),

  judge: (opening, facts): Judgement<OpenVerdict> => {
    const { task, grantHash, assertion, agentRevision, refuseLoggedOut, statusDraws, statusCandidates } = opening;
    const { entry, purpose } = opening;
    const refused = (verdict: OpenVerdict): Judgement<OpenVerdict> => ({ verdict, effects: [] });
    const obstacle = findObstacle(agentRevision, facts);
    if (obstacle !== undefined) return refused(obstacle);
    if (refuseLoggedOut && isLoggedOut(facts.logouts, refuseLoggedOut.issuedAt, refuseLoggedOut.earliest)) {
      return refused({ kind: 'logged_out' });
    }
    const { parent } = facts;
    const parentIsLive = parent?.state === 'live' && !isTimeUp(parent, task.createdAt);
    if (task.parentTaskId !== undefined && !parentIsLive) return refused({ kind: 'parent_ended' });
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
        { effect: 'insert_task', task: status === undefined ? task : { ...task, status }, grantHash },
        ...(purpose === undefined
          ? []
          : [{ effect: 'insert_purpose', taskId: task.taskId, ...purpose.stated } as const]),
        ...recorded(purpose === undefined ? [entry] : [entry, purpose.entry]),
      ],
    };
  },
});

function firstOf(
  listId: string,
  indices: readonly number[],
  taken: readonly number[] = [],
): StatusReference | undefined {
  const index = indices.find((one) => !taken.includes(one));
  return index === undefined ? undefined : { listId, index };
}
