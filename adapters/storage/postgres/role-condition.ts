/** Compares the privileges of the serving role with those that decisions need. */

import type { RoleCondition } from '../../../application/ports/storage.ts';
import type { Run } from './pool/pool.ts';
import { type CreatorsRow, closingStatement, creators, ourFunctions, TABLE_PRIVILEGES } from './serving-role.ts';

const who = {
  name: 'condition_role',
  text: `select current_user as role, rolsuper as is_superuser, pg_has_role(relowner, 'member') as is_owner
    from pg_roles, pg_class where rolname = current_user and pg_class.oid = 'ledger'::regclass`,
};

/** Where the serving role gets the privilege to create objects in the ledger's schema from. */
const creating = {
  name: 'condition_creators',
  text: `with l as (select relowner, relnamespace from pg_class where oid = 'ledger'::regclass)
    ${creators('current_user', '(select relowner from l)', '(select relnamespace from l)')}`,
};

/**
 * The serving role's privileges on the tables and sequences in the ledger's schema that belong to the ledger's owner. A
 * privilege on a column is listed only if the role lacks it on the whole table.
 */
const held = {
  name: 'condition_privileges',
  text: `
    with ours as (
      select c.oid, c.relname::text as name, c.relkind from pg_class c join pg_class l on l.oid = 'ledger'::regclass
        where c.relnamespace = l.relnamespace and c.relowner = l.relowner and c.relkind in ('r', 'p', 'S')
    ), of_tables as (
      select ours.oid, name, lower(p) as privilege from ours,
          unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
        where relkind <> 'S' and has_table_privilege(ours.oid, p)
    )
    select privilege || ' on ' || name as held from of_tables
    union all
    select lower(p) || ' (' || attname || ') on ' || name from ours
      join pg_attribute on attrelid = ours.oid and attnum > 0 and not attisdropped,
        unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p
      where relkind <> 'S' and has_column_privilege(ours.oid, attnum, p)
        and not exists (select from of_tables t where t.oid = ours.oid and t.privilege = lower(p))
    union all
    select lower(p) || ' on ' || name from ours, unnest(array['SELECT', 'UPDATE', 'USAGE']) p
      where relkind = 'S' and has_sequence_privilege(ours.oid, p)
    union all
    select 'create in the database' where has_database_privilege(current_database(), 'CREATE')`,
};

const closedFunctions = {
  name: 'condition_functions',
  text: `select distinct 'execute on ' || f.proname as missing from ${ourFunctions('ledger')}
    where not has_function_privilege(f.oid, 'EXECUTE')`,
};

/** Compares the serving role's privileges with those that decisions need (`serving-role.ts`). */
export async function roleCondition(run: Run): Promise<RoleCondition> {
  const { rows } = await run<{ role: string; is_superuser: boolean; is_owner: boolean }>(who);
  const row = rows[0];
  if (row === undefined) throw new Error('Postgres did not name the serving role');
  const privileges = (await run<{ held: string }>(held)).rows.map((one) => one.held);
  const functions = (await run<{ missing: string }>(closedFunctions)).rows.map((one) => one.missing);
  const [created] = (await run<CreatorsRow>(creating)).rows;
  const closing = created && closingStatement(created);
  const needed = neededPrivileges();
  return {
    role: row.role,
    isSuperuser: row.is_superuser,
    isOwner: row.is_owner,
    creation:
      closing === undefined ? undefined : { isOpenToAll: created?.open_to_all === true, closingStatement: closing },
    surplus: privileges.filter((one) => !needed.includes(one)).sort(),
    missing: [...needed.filter((one) => !isHeld(one, privileges)), ...functions].sort(),
  };
}

/** A privilege on a table includes its columns. */
function isHeld(needed: string, privileges: readonly string[]): boolean {
  return privileges.includes(needed) || privileges.includes(needed.replace(/ \(.*?\)/, ''));
}

/** Splits each privilege into one entry per column: `update (due_at) on outbox`. */
function neededPrivileges(): readonly string[] {
  return Object.entries(TABLE_PRIVILEGES).flatMap(([table, privileges]) =>
    privileges.split(/, (?![^(]*\))/).flatMap((privilege) => {
      const [, word = privilege, columns] = /^(\w+) \((.*)\)$/.exec(privilege) ?? [];
      if (columns === undefined) return [`${word} on ${table}`];
      return columns.split(', ').map((column) => `${word} (${column}) on ${table}`);
    }),
  );
}
