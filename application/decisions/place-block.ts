/**
 * Places the block of an operator, or a person's own pause, and ends the person's tasks (specification "Sponsor block").
 * apply-security-event.ts and provisioning.ts place and lift the blocks of Shared Signals and SCIM.
 */

import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { oldestFirst, type SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask, type TaskSelection } from './fact.ts';
import { exclusive } from './lock.ts';
import { type Explained, explained } from './operator-act.ts';

export interface BlockPlacement extends Explained {
  readonly block: SponsorBlock;
  /** Why the person's live tasks end. */
  readonly reason: RevocationReason;
}

export interface BlockVerdict {
  /** All blocks of the person, oldest first. */
  readonly blocks: readonly SponsorBlock[];
  readonly revokedTasks: number;
}

/**
 * If this source has already blocked the person, that block stays unchanged and no block is recorded. The person's live
 * tasks end all the same.
 */
export const placeBlock = explained(
  decision({
    name: 'place_block',
    transaction: 'operator',

    locks: ({ block }: BlockPlacement) => [exclusive('sponsor', block.sponsorKey)],

    asks: ({ block }) => ({
      blocks: ask('blocks', block.sponsorKey),
      live: ask('live_tasks', { selection: ofPerson(block), at: block.blockedAt }),
    }),

    judge: ({ block, reason, act }, { blocks, live }): Judgement<BlockVerdict> => {
      const isNew = !blocks.some(({ source }) => source === block.source);
      const ending = revokeTasks(live, { at: block.blockedAt, reason }, ofPerson(block));
      const all: readonly SponsorBlock[] = isNew ? [...blocks, block].sort(oldestFirst) : blocks;
      return {
        verdict: { blocks: all.map(withoutStatement), revokedTasks: ending.tasks },
        effects: [
          ...(isNew ? [{ effect: 'put_block', ...block, statedAt: block.blockedAt } as const] : []),
          // A first operator's request to lift was about the block as it stood.
          ...(act === undefined ? [] : [{ effect: 'remove_pending_unblock', sponsorKey: block.sponsorKey } as const]),
          ...ending.effects,
          ...recorded(isNew ? [blocked(block)] : [], ending.ended),
        ],
      };
    },
  }),
);

/** Places a person's own pause. */
export const placePause: typeof placeBlock = { ...placeBlock, name: 'place_pause', transaction: 'person' };

/** Records that a person may not pause, since they could never lift the block. */
export const refusePause = decision({
  name: 'refuse_pause',
  transaction: 'shared',
  locks: () => [],
  asks: () => ({}),
  judge: (entry: LedgerEntry) => ({ verdict: undefined, effects: recorded([entry]) }),
  denial: ({ event }) => ({ event, reason: 'pause_not_liftable' }),
});

function ofPerson({ sponsorKey }: SponsorBlock): TaskSelection {
  return { kind: 'sponsor', sponsorKey };
}

function withoutStatement({ sponsorKey, source, kind, blockedAt }: SponsorBlock): SponsorBlock {
  return { sponsorKey, source, kind, blockedAt };
}

function blocked({ sponsorKey, source, blockedAt }: SponsorBlock): LedgerEntry {
  return {
    at: blockedAt,
    event: 'sponsor.blocked',
    sponsor: sponsorKey,
    decision: 'allow',
    reason: source === 'self' ? 'sponsor_paused' : 'sponsor_blocked',
  };
}
