/**
 * The privileges that decisions need, for a serving role that does not own the schema. The role reads the ledger and the
 * checkpoints. It appends to them only through functions, which number and date a record, and check that a checkpoint is
 * the next one. It has no privilege on the partitions.
 */

import type { Knex } from 'knex';
import pg from 'pg';
import { MIGRATIONS_TABLE } from '../rows/migrations.ts';
import { allTables } from '../tables.ts';

export const TABLE_PRIVILEGES: Readonly<Record<string, string>> = {
  [MIGRATIONS_TABLE]: 'select',
  // For the check whether the sequence was set back. The role can neither advance nor set the sequence.
  ledger_seq: 'select',
  ...Object.fromEntries(allTables.map(({ name, privileges }) => [name, privileges])),
};

/**
 * Selects Mandate's functions, as `f`: those of the ledger's owner in its schema, except functions of extensions. The
 * schema may hold other functions, for example of pg_stat_statements. Mandate must not change their privileges.
 */
export function ourFunctions(ledger: string): string {
  return `pg_proc f join pg_class l on l.oid = '${ledger}'::regclass
    and f.pronamespace = l.relnamespace and f.proowner = l.relowner
    and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = f.oid and deptype = 'e')`;
}

/**
 * Selects who lets `role` create objects in the schema: `role` itself, roles to which it belongs, or every role (`public`).
 *
 * @param role, owner, schema SQL expressions: the serving role, the role that owns the tables, the schema's oid
 */
export function creators(role: string, owner: string, schema: string): string {
  return `select s.nspname::text as schema, pg_get_userbyid(${owner})::text as owner,
      pg_has_role(${role}, ${owner}, 'member') as is_owner, pg_has_role(${role}, s.nspowner, 'member') as owns_schema,
      coalesce(bool_or(acl.grantee = 0), false) as open_to_all,
      string_agg(distinct case acl.grantee when 0 then 'public' else acl.grantee::regrole::text end, ', ') as open_to
    from pg_namespace s
      left join lateral aclexplode(coalesce(s.nspacl, acldefault('n', s.nspowner))) acl on acl.privilege_type = 'CREATE'
        and (acl.grantee = 0 or pg_has_role(${role}, acl.grantee, 'member'))
    where s.oid = ${schema} group by s.oid, s.nspname, s.nspowner`;
}

export interface CreatorsRow {
  readonly schema: string;
  readonly owner: string;
  /** Whether `role` has the rights of `owner`, or can take them. */
  readonly is_owner: boolean;
  /** Whether `role` has the rights of the schema's owner, who may drop every table in it. */
  readonly owns_schema: boolean;
  readonly open_to_all: boolean;
  readonly open_to: string | null;
}

/**
 * The statement that takes CREATE on the schema from every role but the owner of the tables. A role with CREATE can make
 * a function that another role then calls in place of one of Postgres.
 */
export function closingStatement(row: CreatorsRow): string | undefined {
  const schema = pg.escapeIdentifier(row.schema);
  const revoked = row.is_owner ? row.open_to_all && 'public' : row.open_to;
  if (row.owns_schema && !row.is_owner) return `alter schema ${schema} owner to ${pg.escapeIdentifier(row.owner)}`;
  return revoked ? `revoke create on schema ${schema} from ${revoked}` : undefined;
}

/** The statement that must run before `migrate`; `undefined` if the serving role has the rights of the owner anyway. */
export async function closingBefore(
  transaction: Knex.Transaction,
  schema: string,
  servingRole: string,
): Promise<string | undefined> {
  const oid = `(select oid from pg_namespace where nspname = ${literal(schema)})`;
  const { rows } = await transaction.raw(creators(literal(servingRole), 'current_user::regrole', oid));
  const [row]: readonly CreatorsRow[] = rows;
  return row === undefined || row.is_owner ? undefined : closingStatement(row);
}

/**
 * Revokes EXECUTE on Mandate's functions, which Postgres grants to every role, and all privileges of the serving role on
 * its tables. Then grants TABLE_PRIVILEGES and EXECUTE to the serving role. Safe to repeat.
 */
export async function grantToServingRole(
  transaction: Knex.Transaction,
  schema: string,
  servingRole: string,
): Promise<void> {
  const inSchema = identifier(schema);
  const { rows } = await transaction.raw('select current_user::text as owner');
  const { owner }: { owner: string } = rows[0];
  const functions = await signatures(transaction, inSchema);
  await transaction.raw(`revoke execute on routine ${functions} from public`);
  if (servingRole === owner) return;
  const role = identifier(servingRole);
  await transaction.raw(`grant usage on schema ${inSchema} to ${role}`);
  for (const [table, privileges] of Object.entries(TABLE_PRIVILEGES)) {
    await transaction.raw(`revoke all on ${inSchema}.${table} from ${role}`);
    await transaction.raw(`grant ${privileges} on ${inSchema}.${table} to ${role}`);
  }
  await transaction.raw(`grant execute on routine ${functions} to ${role}`);
}

async function signatures(transaction: Knex.Transaction, inSchema: string): Promise<string> {
  const { rows }: { rows: readonly { signature: string }[] } = await transaction.raw(
    `select f.oid::regprocedure::text as signature from ${ourFunctions(`${inSchema}.ledger`)}`,
  );
  return rows.map(({ signature }) => signature.replaceAll('?', '\\?')).join(', ');
}

/** Quotes a name for Postgres, and escapes `?` for Knex, which would take it for a parameter. */
export function identifier(name: string): string {
  return pg.escapeIdentifier(name).replaceAll('?', '\\?');
}

/** Quotes a text like `identifier`. */
export function literal(name: string): string {
  return pg.escapeLiteral(name).replaceAll('?', '\\?');
}
