/**
 * The privileges that decisions need, for a serving role that does not own the schema. The role reads the ledger and the
 * checkpoints. It appends to them only through functions, which number and date a record, and check that a checkpoint is
 * the next one. It has no privilege on the partitions.
 */

import type { Knex } from 'knex';
import pg from 'pg';
import { MIGRATIONS_TABLE } from '../rows/migrations.ts';

export const TABLE_PRIVILEGES: Readonly<Record<string, string>> = {
  [MIGRATIONS_TABLE]: 'select',
  agents: 'select, insert, update, delete',
  sponsor_blocks: 'select, insert, update, delete',
  provisioned_users: 'select, insert, update, delete',
  tasks: 'select, insert, update, delete',
  task_grants: 'select, insert, update, delete',
  status_lists: 'select, insert, update, delete',
  revoked_tokens: 'select, insert, delete',
  spent_assertions: 'select, insert, delete',
  accepted_signals: 'select, insert, delete',
  logouts: 'select, insert, update, delete',
  me_sessions: 'select, insert, update, delete',
  operator_sessions: 'select, insert, update, delete',
  pending_unblocks: 'select, insert, update, delete',
  // An act stays. Only its reason is erased.
  operator_acts: 'select, insert, update (reason, salt)',
  ledger: 'select',
  // For the check whether the sequence was set back. The role can neither advance nor set the sequence.
  ledger_seq: 'select',
  ledger_archives: 'select',
  checkpoints: 'select',
  log_state: 'select, insert, update',
  log_tiles: 'select, insert, update',
  log_cosignatures: 'select, insert, update, delete',
  log_problems: 'select, insert, update, delete',
  log_keys: 'select, insert, update',
  // Not `seq`: an entry with a future number would make the append that takes this number fail.
  outbox: 'select, update (due_at, failures), delete',
  outbox_queueing: 'select, update (queueing)',
};

/**
 * Selects Mandate's functions, as `f`: those of the ledger's owner in its schema, except functions of extensions. The
 * schema may hold other functions, for example of pg_stat_statements. Mandate must not change their privileges.
 */
export const OUR_FUNCTIONS = `pg_proc f join pg_class l on l.oid = 'ledger'::regclass
    and f.pronamespace = l.relnamespace and f.proowner = l.relowner
    and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = f.oid and deptype = 'e')`;

/**
 * Revokes EXECUTE on Mandate's functions, which Postgres grants to every role, and all privileges of the serving role on
 * its tables. Then grants TABLE_PRIVILEGES and EXECUTE to the serving role. Safe to repeat.
 */
export async function grantToServingRole(transaction: Knex.Transaction, servingRole: string): Promise<void> {
  const { rows } = await transaction.raw('select current_user as owner, current_schema() as schema');
  const { owner, schema }: { owner: string; schema: string } = rows[0];
  const inSchema = identifier(schema);
  const functions = await signatures(transaction);
  await transaction.raw(`revoke execute on routine ${functions} from public`);
  if (servingRole === owner) return;
  const role = identifier(servingRole);
  await transaction.raw(`grant usage on schema ${inSchema} to ${role}`);
  for (const [table, privileges] of Object.entries(TABLE_PRIVILEGES)) {
    await transaction.raw(`revoke all on ${table} from ${role}`);
    await transaction.raw(`grant ${privileges} on ${table} to ${role}`);
  }
  await transaction.raw(`grant execute on routine ${functions} to ${role}`);
}

async function signatures(transaction: Knex.Transaction): Promise<string> {
  const { rows }: { rows: readonly { signature: string }[] } = await transaction.raw(
    `select f.oid::regprocedure::text as signature from ${OUR_FUNCTIONS}`,
  );
  return rows.map(({ signature }) => signature.replaceAll('?', '\\?')).join(', ');
}

/** Quotes a name for Postgres, and escapes `?` for Knex, which would take it for a parameter. */
function identifier(name: string): string {
  return pg.escapeIdentifier(name).replaceAll('?', '\\?');
}
