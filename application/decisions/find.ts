/**
 * Look-ups in a deciding transaction. A plain read may have asked another server than the decisions do, so "not found" from
 * it proves nothing (docs/decisions/0027-a-switch-that-finds-nothing.md). Neither does a read that failed: the pool of
 * switches keeps a connection when the reads have none. None of them writes.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId, UserId } from '../../domain/identifiers.ts';
import type { GrantHash, GrantRotation } from '../../domain/tasks/task.ts';
import { decision, type Judgement } from './decision.ts';
import { ask, type GrantOwner } from './fact.ts';

/** The task's person; `undefined` if the task is not stored. */
export const findTaskSponsor = decision({
  name: 'find_task_sponsor',
  transaction: 'operator',
  locks: () => [],
  asks: ({ taskId }: { readonly taskId: TaskId }) => ({ sponsorKey: ask('task_sponsor', taskId) }),
  judge: (_, { sponsorKey }): Judgement<SponsorKey | undefined> => ({ verdict: sponsorKey, effects: [] }),
});

/** The same for a person, at `/me`. */
export const findOwnTaskSponsor: typeof findTaskSponsor = {
  ...findTaskSponsor,
  name: 'find_own_task_sponsor',
  transaction: 'person',
};

/** The same for the task that an offer names. For the agent that takes it up. */
export const findTaskOfOffer: typeof findTaskSponsor = {
  ...findTaskSponsor,
  name: 'find_task_of_offer',
  transaction: 'shared',
};

/** The task and the person of a grant that was issued to this agent, and its rotation. For the agent, at refresh and revocation. */
export const findGrantOwner = decision({
  name: 'find_grant_owner',
  transaction: 'shared',
  locks: () => [],
  asks: ({ grantHash }: { readonly agentId: AgentId; readonly grantHash: GrantHash }) => ({
    owner: ask('grant_owner', grantHash),
    grant: ask('grant', grantHash),
  }),
  judge: ({ agentId }, { owner, grant }): Judgement<FoundGrant | undefined> => ({
    verdict: owner?.agentId === agentId ? { ...owner, rotation: grant?.rotation } : undefined,
    effects: [],
  }),
});

interface FoundGrant extends GrantOwner {
  readonly rotation: GrantRotation | undefined;
}

/** The agent; `undefined` if it is not registered. */
export const findAgent = decision({
  name: 'find_agent',
  transaction: 'operator',
  locks: () => [],
  asks: ({ agentId }: { readonly agentId: AgentId }) => ({ agent: ask('agent', agentId) }),
  judge: (_, { agent }): Judgement<Agent | undefined> => ({ verdict: agent, effects: [] }),
});

/** Whether the provisioned user is stored. */
export const userExists = decision({
  name: 'user_exists',
  transaction: 'provider',
  locks: () => [],
  asks: ({ userId }: { readonly userId: UserId }) => ({ revision: ask('user_revision', userId) }),
  judge: (_, { revision }): Judgement<boolean> => ({ verdict: revision !== undefined, effects: [] }),
});
