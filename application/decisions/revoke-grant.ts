/** Revokes a task by its grant (specification "POST /oauth2/revoke"). */

import type { SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { assertionLocks, assertionQuestions, isReplayed, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';

export interface GrantRevocation extends Revocation {
  /** The grant's task and its person, which never change. */
  readonly taskId: TaskId;
  readonly sponsorKey: SponsorKey;
  readonly assertion?: SpentAssertion | undefined;
}

/**
 * Ends the task and all tasks delegated from it, with their grants. A task whose time is up is left to the sweeper,
 * which records the expiry; its delegated tasks end now. `already_ended`: the task had ended, or its time is up and no
 * delegated task is live. The assertion is used up. With `replayed`, nothing is written.
 */
type RevokeGrantVerdict = 'revoked' | 'already_ended' | 'replayed';

export const revokeGrant = decision({
  name: 'revoke_grant',
  transaction: 'shared',

  locks: ({ sponsorKey, taskId, assertion }: GrantRevocation) => [
    exclusive('sponsor', sponsorKey),
    ...assertionLocks(assertion),
    exclusive('task', taskId),
  ],

  asks: ({ taskId, at, assertion }) => ({
    spent: assertionQuestions(assertion),
    task: ask('task_state', taskId),
    live: ask('live_tasks', { selection: { kind: 'task', taskId }, at }),
  }),

  judge: ({ taskId, at, reason, assertion }, facts): Judgement<RevokeGrantVerdict> => {
    if (isReplayed(facts.spent)) return { verdict: 'replayed', effects: [] };
    const used = spend(assertion, facts.spent);
    const ending = revokeTasks(facts.live, { at, reason }, { kind: 'task', taskId });
    if (facts.task?.state !== 'live' || ending.tasks === 0) return { verdict: 'already_ended', effects: used };
    return {
      verdict: 'revoked',
      effects: [...used, ...ending.effects, ...recorded([], ending.ended)],
    };
  },
});
