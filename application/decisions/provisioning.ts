/** How a write of a provisioned user affects its people (specification "/scim/v2", effect per write). */

import type { SponsorKey, TaskId, UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import {
  type HeldStatement,
  heldStatement,
  type OtherUsers,
  type ProvisioningStatement,
  SIGNAL_REASONS,
  signalOf,
} from '../../domain/signals/provisioning-statement.ts';
import type { BlockKind, StatedBlock } from '../../domain/sponsors/block.ts';
import { type Effect, recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask, type LiveTasks } from './fact.ts';
import { exclusive } from './lock.ts';

/** The statements of a write about people, each about another person, and the time of the write. */
export interface ProvisioningEffects {
  readonly statements: readonly ProvisioningStatement[];
  readonly at: Instant;
}

export function peopleLocks(...sponsorKeys: readonly SponsorKey[]) {
  return [...new Set(sponsorKeys)].map((sponsorKey) => exclusive('sponsor', sponsorKey));
}

/** Asks about each statement's person, in the order of the statements. @param userId the written user */
export function peopleQuestions(userId: UserId, { statements, at }: ProvisioningEffects) {
  const people = statements.map(({ sponsorKey }) => sponsorKey);
  return {
    others: people.map((sponsorKey) => ask('other_users', { sponsorKey, except: userId })),
    blocks: people.map((sponsorKey) => ask('blocks', sponsorKey)),
    // An active person keeps their tasks. Reading them would lock their rows.
    live: statements.map(({ sponsorKey, state }) =>
      state === 'active' ? undefined : ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey }, at }),
    ),
  };
}

/** The answers to `peopleQuestions`. */
export interface People {
  readonly others: readonly OtherUsers[];
  readonly blocks: readonly (readonly StatedBlock[])[];
  readonly live: readonly (LiveTasks | undefined)[];
}

/**
 * - A refused person is blocked with source `scim`, even if another source has blocked them. Their live tasks end. An
 *   existing block of this source takes the new kind and keeps its times.
 * - An active person loses the block of this source. Blocks of other sources never change.
 * - A user who becomes active while another user of the person is inactive lifts nothing, and is recorded.
 * - The `sponsor.signal` entry precedes the entries of its effects. A repeated statement without an effect has none.
 */
export function applyStatements({ statements, at }: ProvisioningEffects, people: People): readonly Effect[] {
  const effects: Effect[] = [];
  const ended = new Set<TaskId>();
  for (const [nth, statement] of statements.entries()) {
    const held = heldStatement(statement, people.others[nth] ?? { users: 0, inactive: 0 });
    if (held.state === 'still_inactive') {
      effects.push(...recorded(held.isNew ? [signalOf(held, at)] : []));
      continue;
    }
    const own = people.blocks[nth]?.find(({ source }) => source === 'scim');
    // A task of the second person may be delegated from a task of the first. It has then ended with the first.
    const live = without(ended, people.live[nth]);
    effects.push(...(held.state === 'active' ? readmit(held, own, at) : refuse(held, held.state, own, live, at)));
    if (held.state !== 'active') for (const taskId of live.taskIds) ended.add(taskId);
  }
  return effects;
}

function readmit(held: HeldStatement, own: StatedBlock | undefined, at: Instant): readonly Effect[] {
  const { sponsorKey, isNew } = held;
  if (own === undefined) return recorded(isNew ? [signalOf(held, at)] : []);
  return [{ effect: 'remove_block', sponsorKey, source: 'scim' }, ...recorded([signalOf(held, at)])];
}

function refuse(
  held: HeldStatement,
  kind: BlockKind,
  own: StatedBlock | undefined,
  live: LiveTasks,
  at: Instant,
): readonly Effect[] {
  const { sponsorKey, isNew } = held;
  const block = own ?? { sponsorKey, source: 'scim' as const, blockedAt: at, statedAt: at };
  const changed = own?.kind !== kind;
  const ending = revokeTasks(live, { at, reason: SIGNAL_REASONS[kind] }, { kind: 'sponsor', sponsorKey });
  const endsSelected = live.taskIds.some((taskId) => !live.delegated.has(taskId));
  return [
    ...(changed ? [{ effect: 'put_block', ...block, kind } as const] : []),
    ...ending.effects,
    ...recorded(isNew || changed || endsSelected ? [signalOf(held, at)] : [], ending.ended),
  ];
}

const NO_TASKS: LiveTasks = { taskIds: [], delegated: new Set(), sponsors: [] };

function without(ended: ReadonlySet<TaskId>, live: LiveTasks = NO_TASKS): LiveTasks {
  return ended.size === 0 ? live : { ...live, taskIds: live.taskIds.filter((taskId) => !ended.has(taskId)) };
}
