/** What the role that serves may do, held against what its decisions need (`serving-role.ts`). */

import type { RoleCondition } from '../../../application/ports/storage.ts';
import type { Run } from './connections.ts';
import { OUR_FUNCTIONS, TABLE_PRIVILEGES } from './serving-role.ts';

const who = {
  name: 'condition_role',
  text: `select current_user as role, rolsuper as is_superuser, pg_has_role(relowner, 'usage') as is_owner
    from pg_roles, pg_class where rolname = current_user and pg_class.oid = 'ledger'::regclass`,
};

/** Of everything that the ledger's owner has beside the ledger; a column's only where the whole table's is not held. */
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
    select 'create in the schema' from pg_class l
      where l.oid = 'ledger'::regclass and has_schema_privilege(l.relnamespace, 'CREATE')`,
};

const closedFunctions = {
  name: 'condition_functions',
  text: `select distinct 'execute on ' || f.proname as missing from ${OUR_FUNCTIONS}
    where not has_function_privilege(f.oid, 'EXECUTE')`,
};

export async function roleCondition(run: Run): Promise<RoleCondition> {
  const { rows } = await run<{ role: string; is_superuser: boolean; is_owner: boolean }>(who);
  const row = rows[0];
  if (row === undefined) throw new Error('Postgres has no name for the role that serves');
  const privileges = (await run<{ held: string }>(held)).rows.map((one) => one.held);
  const functions = (await run<{ missing: string }>(closedFunctions)).rows.map((one) => one.missing);
  const needed = neededPrivileges();
  return {
    role: row.role,
    isSuperuser: row.is_superuser,
    isOwner: row.is_owner,
    surplus: privileges.filter((one) => !needed.includes(one)).sort(),
    missing: [...needed.filter((one) => !isHeld(one, privileges)), ...functions].sort(),
  };
}

/** A privilege on a table is one on its columns too. */
function isHeld(needed: string, privileges: readonly string[]): boolean {
  return privileges.includes(needed) || privileges.includes(needed.replace(/ \(.*?\)/, ''));
}

/** `update (due_at) on outbox`, one for each column. */
function neededPrivileges(): readonly string[] {
  return Object.entries(TABLE_PRIVILEGES).flatMap(([table, privileges]) =>
    privileges.split(/, (?![^(]*\))/).flatMap((privilege) => {
      const [, word = privilege, columns] = /^(\w+) \((.*)\)$/.exec(privilege) ?? [];
      if (columns === undefined) return [`${word} on ${table}`];
      return columns.split(', ').map((column) => `${word} (${column}) on ${table}`);
    }),
  );
}
