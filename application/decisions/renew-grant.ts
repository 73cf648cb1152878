/**
 * Renews a grant (specification "POST /oauth2/token", Refresh): counts the renewal, and stores the scope that the
 * refresh granted, which may be narrower than before.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { rotate } from '../../domain/tasks/grant.ts';
import type { GrantHash } from '../../domain/tasks/task.ts';
import { assertionLocks, assertionQuestions, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { type ChainObstacle, chainLocks, chainQuestions, findChainObstacle, type JudgedAncestor } from './delegated.ts';
import { recorded } from './effect.ts';
import { ask, type GrantOwner } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface Renewal extends GrantOwner {
  readonly grantHash: GrantHash;
  /** The grant's scope when the request was checked. */
  readonly grantScope: Scope;
  /** The grant's new scope. */
  readonly scope: Scope;
  readonly assertion?: SpentAssertion | undefined;
  /** Set if the grant rotates: SHA-256 of the whole grant that was presented, and of the one that the answer has. */
  readonly rotation?: { readonly presented: GrantHash; readonly next: GrantHash } | undefined;
  readonly agentRevision: Agent['revision'];
  /** The tasks above, the nearest first. Absent if none delegated the task. */
  readonly ancestors?: readonly JudgedAncestor[] | undefined;
  /** Whether every renewal gets its own record. Otherwise renewals after the first are only counted on the grant. */
  readonly recordEach: boolean;
  /** The `token.refreshed` entry: appended for the task's first renewal, and with `recordEach` for every one. */
  readonly entry: LedgerEntry;
}

/**
 * Nothing is written unless the grant is renewed.
 * - `parent_ended`, `narrowed`: the caller must check the tasks above again.
 * - `grant_changed`: the grant's scope is not `grantScope` any more, or its task has ended. The caller must read the grant and
 *   check the request again.
 * - `superseded`: the grant rotates, and a newer one than the presented one was used. The task must end (`refuse.ts`).
 */
type RenewVerdict = { readonly kind: 'renewed' | 'grant_changed' | 'superseded' } | ChainObstacle | Obstacle;

export const renewGrant = decision({
  name: 'renew_grant',
  transaction: 'shared',

  locks: ({ sponsorKey, agentId, assertion, grantHash, ancestors = [] }: Renewal) => [
    shared('sponsor', sponsorKey),
    shared('agent', agentId),
    ...assertionLocks(assertion),
    ...chainLocks(ancestors, agentId),
    exclusive('grant', grantHash),
  ],

  asks: ({ agentId, assertion, sponsorKey, grantHash, ancestors = [] }) => ({
    revision: ask('agent_revision', agentId),
    spent: assertionQuestions(assertion),
    blocks: ask('blocks', sponsorKey),
    grant: ask('grant', grantHash),
    ...chainQuestions(ancestors),
  }),

  judge: (renewal, facts): Judgement<RenewVerdict> => {
    const refused = (verdict: RenewVerdict): Judgement<RenewVerdict> => ({ verdict, effects: [] });
    const { grantHash, scope, assertion, recordEach, entry, ancestors = [] } = renewal;
    const obstacle = findObstacle(renewal.agentRevision, facts);
    if (obstacle !== undefined) return refused(obstacle);
    const changed = findChainObstacle(ancestors, facts, { scope, at: entry.at });
    if (changed !== undefined) return refused(changed);
    const { grant } = facts;
    // The transaction that ends a task revokes its grants, so the state of the task need not be read.
    const isJudged =
      grant !== undefined &&
      grant.taskId === renewal.taskId &&
      grant.revokedAt === undefined &&
      formatScope(grant.scope) === formatScope(renewal.grantScope);
    if (!isJudged) return refused({ kind: 'grant_changed' });
    const rotated =
      grant.rotation === undefined
        ? undefined
        : renewal.rotation && rotate(grant.rotation, renewal.rotation.presented, renewal.rotation.next);
    if (grant.rotation !== undefined && rotated?.kind !== 'rotated') return refused({ kind: 'superseded' });
    const isRecorded = recordEach || grant.renewals === 0;
    return {
      verdict: { kind: 'renewed' },
      effects: [
        ...spend(assertion, facts.spent),
        {
          effect: 'update_grant',
          grantHash,
          scope,
          renewals: grant.renewals + 1,
          unrecorded: grant.unrecorded + (isRecorded ? 0 : 1),
          renewedAt: entry.at,
        },
        ...(rotated?.kind === 'rotated' ? [{ effect: 'rotate_grant', grantHash, ...rotated.rotation } as const] : []),
        ...recorded(isRecorded ? [entry] : []),
      ],
    };
  },
});
