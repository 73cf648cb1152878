/** Brings about, on Postgres, what a write of a provisioned user says about people (application/ports/provisioned-users.ts). */

import type { Knex } from 'knex';
import type { ProvisioningEffects } from '../../../application/ports/provisioned-users.ts';
import type { SponsorKey, UserId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import {
  type HeldStatement,
  heldStatement,
  SIGNAL_REASONS,
  signalOf,
} from '../../../domain/signals/provisioning-statement.ts';
import type { BlockKind } from '../../../domain/sponsors/block.ts';
import { countOthers, type OtherUsersRow } from '../rows/provisioned-user-queries.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { boundEntry, entryParameter } from './entry.ts';
import { append } from './ledger.ts';
import { LOCK } from './locks.ts';

/**
 * Both at once, in the order of the locks themselves: two keys can share one, and then another order than this would
 * let two writes wait for each other.
 */
const lockPeople = {
  name: 'lock_people',
  text: `select pg_advisory_xact_lock(${LOCK.sponsor}, person) from (
    select distinct hashtext(sponsor_key) as person from (values ($1), ($2)) keys (sponsor_key) order by 1
  ) people`,
};

/** Exclusively, before anything is read: whoever decides about one of them now is waited for. */
export async function lockPersons(run: Run, one: SponsorKey, other: SponsorKey = one): Promise<void> {
  await run(lockPeople, [one, other]);
}

const place = {
  name: 'scim_block',
  text: `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
    values ($1, 'scim', $2, $3, $3) on conflict do nothing`,
};

/** Of our own block only; it keeps its time, since the person has been refused from then on. */
const setKind = {
  name: 'scim_block_kind',
  text: `update sponsor_blocks set kind = $1 where sponsor_key = $2 and source = 'scim' and kind <> $1`,
};

const lift = { name: 'scim_lift', text: `delete from sponsor_blocks where sponsor_key = $1 and source = 'scim'` };

const lockTasks = {
  name: 'scim_lock_tasks',
  text: 'select lock_tasks_of_sponsors(array[$1, $2], $3) as sponsor_key',
};

const endTasks = {
  name: 'scim_end_tasks',
  text: `select end_tasks_of_sponsor($1, $2, $3, ${entryParameter(4)})`,
};

/**
 * The people are locked by now, so what their other users say stands still.
 *
 * @param userId the user that was written; what their person's other users say counts too
 */
export async function bringAbout(knex: Knex, run: Run, userId: UserId, effects: ProvisioningEffects): Promise<void> {
  const { statements, at } = effects;
  const held: Written[] = [];
  for (const statement of statements) {
    const { rows } = await run<OtherUsersRow>(countOthers(knex, statement.sponsorKey, userId));
    const holds = heldStatement(statement, rows[0] ?? { users: 0, inactive: 0 });
    if (holds !== undefined) held.push({ holds, changed: await writeBlock(run, holds, at) });
  }
  const atWork = await lockTasksOf(run, held, at);
  for (const { holds, changed } of held) {
    const { sponsorKey, state, isNew } = holds;
    if (state === 'active') {
      if (isNew || changed) await append(run, signalOf(holds, at));
    } else if (isNew || changed || atWork.includes(sponsorKey)) {
      const signal = boundEntry(signalOf(holds, at));
      await run(endTasks, [sponsorKey, bindInstant(at), SIGNAL_REASONS[state], ...signal]);
    }
  }
}

interface Written {
  readonly holds: HeldStatement;
  /** Whether a block was placed, lifted or given another kind. */
  readonly changed: boolean;
}

async function writeBlock(run: Run, { sponsorKey, state }: HeldStatement, at: Instant): Promise<boolean> {
  if (state === 'active') return (await run(lift, [sponsorKey])).count > 0;
  const kind: BlockKind = state;
  const placed = await run(place, [storable('sponsor_key', sponsorKey), kind, bindInstant(at)]);
  return placed.count > 0 || (await run(setKind, [kind, sponsorKey])).count > 0;
}

/** Which of the people who are stopped have live tasks; these are locked. */
async function lockTasksOf(run: Run, held: readonly Written[], at: Instant): Promise<readonly SponsorKey[]> {
  const [one, other = one] = held.flatMap(({ holds }) => (holds.state === 'active' ? [] : [holds.sponsorKey]));
  if (one === undefined || other === undefined) return [];
  const { rows } = await run<{ readonly sponsor_key: SponsorKey }>(lockTasks, [one, other, bindInstant(at)]);
  return rows.map((row) => row.sponsor_key);
}
