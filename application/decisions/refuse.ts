/** Records a refusal, and uses up its assertion and its code (supplement "Client assertions", "Token endpoint"). */

import { KEPT_SECONDS } from '../../domain/authorization/authorization.ts';
import type { DenialReason } from '../../domain/denial.ts';
import type { RequestId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { denialOf } from '../../domain/sponsors/block.ts';
import type { GrantHash, RevocationReason } from '../../domain/tasks/task.ts';
import { assertionLocks, assertionQuestions, isReplayed, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';

/** A refusal and the facts that the recording transaction checks. */
export interface Refusal {
  readonly entry: LedgerEntry & { readonly decision: 'deny'; readonly reason: DenialReason };
  /** The assertion that the refusal uses up; `undefined` if the client may send it again. */
  readonly assertion?: SpentAssertion | undefined;
  /** Set if the person passed all other checks: a block that was placed since then is the reason to record. */
  readonly sponsorKey?: SponsorKey | undefined;
  /** Set if a plain read did not find this grant of the entry's agent. */
  readonly unknownGrant?: GrantHash | undefined;
  /**
   * Set with a reason of `misuses`: a code or grant was presented that was used before, so it may be stolen. Its task
   * ends for the same reason.
   */
  readonly misusedTask?: MisusedTask | undefined;
  /** Set if a client presented the code of this request, and it fits: the refusal uses it up (RFC 6749 §10.5). */
  readonly spentCode?: RequestId | undefined;
}

interface MisusedTask {
  readonly taskId: TaskId;
  readonly sponsorKey: SponsorKey;
  /** The earlier clock's, as of every end: by a clock that is ahead, a live task counts as expired. */
  readonly endsAt: Instant;
}

/** RFC 6749 §4.1.2 (a code used twice) and RFC 9700 §4.14.2 (a replaced refresh token). */
const misuses = ['code_replayed', 'grant_superseded'] as const satisfies readonly (DenialReason & RevocationReason)[];

/**
 * `grant_exists`: the plain read was outdated, and nothing was written
 * (docs/decisions/0027-a-switch-that-finds-nothing.md). Every other verdict is the recorded reason. It differs from the
 * entry's reason if an earlier check fails now:
 * - `actor_replayed` if the assertion, or the client assertion sent with it, was used before. An unused one is used up.
 * - the block's reason if the person is blocked.
 */
export const refuse = decision({
  name: 'refuse',
  transaction: 'shared',

  locks: ({ sponsorKey, assertion, misusedTask, spentCode }: Refusal) => [
    ...(sponsorKey === undefined ? [] : [shared('sponsor', sponsorKey)]),
    ...(misusedTask === undefined ? [] : [exclusive('sponsor', misusedTask.sponsorKey)]),
    ...assertionLocks(assertion),
    ...(misusedTask === undefined ? [] : [exclusive('task', misusedTask.taskId)]),
    ...(spentCode === undefined ? [] : [exclusive('authorization', spentCode)]),
  ],

  asks: ({ sponsorKey, assertion, unknownGrant, misusedTask, spentCode }) => ({
    live:
      misusedTask &&
      ask('live_tasks', { selection: { kind: 'task', taskId: misusedTask.taskId }, at: misusedTask.endsAt }),
    spent: assertionQuestions(assertion),
    blocks: sponsorKey && ask('blocks', sponsorKey),
    owner: unknownGrant === undefined ? undefined : ask('grant_owner', unknownGrant),
    authorization: spentCode && ask('authorization', spentCode),
  }),

  judge: (
    { entry, assertion, misusedTask, spentCode },
    { spent, blocks = [], owner, live, authorization },
  ): Judgement<DenialReason | 'grant_exists'> => {
    if (owner !== undefined && owner.agentId === entry.agentId) return { verdict: 'grant_exists', effects: [] };
    const reason = isReplayed(spent) ? 'actor_replayed' : (denialOf(blocks) ?? entry.reason);
    const misuse = misuses.find((each) => each === reason);
    const ending =
      live === undefined || misusedTask === undefined || misuse === undefined
        ? undefined
        : revokeTasks(live, { at: misusedTask.endsAt, reason: misuse }, { kind: 'task', taskId: misusedTask.taskId });
    // Another presentation may have spent it since, or an end made it void. A client that is not authenticated spends none.
    const code = authorization?.state === 'allowed' && reason !== 'actor_replayed' ? authorization.code : undefined;
    return {
      verdict: reason,
      effects: [
        ...spend(assertion, spent),
        ...(ending?.effects ?? []),
        ...(code === undefined || spentCode === undefined
          ? []
          : [
              {
                effect: 'spend_authorization',
                requestId: spentCode,
                forgetAt: plusSeconds(code.expiresAt, KEPT_SECONDS),
              } as const,
            ]),
        ...recorded([{ ...entry, reason }], ending?.ended),
      ],
    };
  },

  denial: ({ entry }, reason) => (reason === 'grant_exists' ? undefined : { event: entry.event, reason }),
});
