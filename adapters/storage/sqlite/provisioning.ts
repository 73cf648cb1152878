/** Brings about, on SQLite, what a write of a provisioned user says about people (application/ports/provisioned-users.ts). */

import type { Knex } from 'knex';
import type { ProvisioningEffects } from '../../../application/ports/provisioned-users.ts';
import type { TaskId, UserId } from '../../../domain/identifiers.ts';
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
import { endTasks } from './ending.ts';
import { append } from './ledger.ts';

const place = `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
  values (?, 'scim', ?, ?, ?) on conflict do nothing`;

/** Of our own block only; it keeps its time, since the person has been refused from then on. */
const setKind = `update sponsor_blocks set kind = ? where sponsor_key = ? and source = 'scim' and kind <> ?`;

const lift = `delete from sponsor_blocks where sponsor_key = ? and source = 'scim'`;

const liveTasks = `select task_id, expires_at from tasks where sponsor_key = ? and state = 'live'`;

interface LiveTaskRow {
  readonly task_id: TaskId;
  readonly expires_at: Instant;
}

/** @param userId the user that was written; what their person's other users say counts too */
export function bringAbout(knex: Knex, run: Run, userId: UserId, { statements, at }: ProvisioningEffects): void {
  for (const statement of statements) {
    const { rows } = run<OtherUsersRow>(countOthers(knex, statement.sponsorKey, userId));
    const held = heldStatement(statement, rows[0] ?? { users: 0, inactive: 0 });
    if (held?.state === 'active') readmit(run, held, at);
    else if (held !== undefined) refuse(run, held, held.state, at);
  }
}

function readmit(run: Run, held: HeldStatement, at: Instant): void {
  const { count } = run(lift, [held.sponsorKey]);
  if (held.isNew || count > 0) append(run, signalOf(held, at));
}

function refuse(run: Run, held: HeldStatement, kind: BlockKind, at: Instant): void {
  const { sponsorKey, isNew } = held;
  const placed = run(place, [storable('sponsor_key', sponsorKey), kind, bindInstant(at), bindInstant(at)]).count;
  const changed = placed + run(setKind, [kind, sponsorKey, kind]).count;
  const { rows } = run<LiveTaskRow>(liveTasks, [sponsorKey]);
  if (!isNew && changed === 0 && !rows.some((task) => task.expires_at > at)) return;
  append(run, signalOf(held, at));
  const roots = rows.map((task) => task.task_id);
  endTasks(run, roots, { at, reason: SIGNAL_REASONS[kind] });
}
