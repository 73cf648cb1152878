/** Compares what keeps the ledger from being changed with what the migrations make: triggers, privileges, functions. */

import type { GuardCondition, MissingGuard } from '../../../application/ports/storage.ts';
import { evenlySpaced, IS_FOREIGN } from '../rows/migrations.ts';
import { appendOnlyTables } from '../tables.ts';
import { functionBodies, readSchemaStatus } from './migrate.ts';
import type { Run } from './pool/pool.ts';
import { ourFunctions } from './serving-role.ts';

const APPEND_ONLY = appendOnlyTables.map((name) => `'${name}'::regclass`).join(', ');

/**
 * Lists the guards that keep the ledger from being changed (`schema.sql`), on its tables and every partition. A trigger
 * counts if it is enabled, unconditional, for all columns, and runs `refuse_ledger_change` before the change. Its name
 * does not matter. The bits of `tgtype`: row 1, before 2, insert 4, delete 8, update 16, truncate 32.
 */
const guards = {
  name: 'condition_guards',
  text: `
    with partitions as (
      select inhrelid as oid from pg_inherits where inhparent = 'ledger'::regclass
    ), guarded as (
      select oid, relname::text as name, relacl, relowner, oid = 'ledger'::regclass or oid in (table partitions) as by_row
        from pg_class
        where oid in (${APPEND_ONLY}) or oid in (table partitions)
    ), active as (
      select tgrelid, tgtype from pg_trigger
        where tgfoid = (select f.oid from ${ourFunctions('ledger')} where f.proname = 'refuse_ledger_change' and f.pronargs = 0)
          and tgenabled in ('O', 'A') and tgqual is null and tgattr = ''
    )
    select name,
        exists (select from active where tgrelid = oid and tgtype & 59 = 58) as by_statement,
        not by_row or exists (select from active where tgrelid = oid and tgtype & 27 = 27) as by_row,
        array(
          select distinct lower(acl.privilege_type) || ' granted to '
              || case acl.grantee when 0 then 'everybody' else acl.grantee::regrole::text end
            from aclexplode(coalesce(relacl, acldefault('r', relowner))) acl
            where acl.privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE')
        ) as granted
      from guarded order by name`,
};

/** What no migration makes on the ledger's tables or `tasks`: it could change what is written, or hide what was. */
const foreign = {
  name: 'condition_foreign',
  text: `
    with ours as (
      select oid, relname::text as name, relkind, relrowsecurity or relforcerowsecurity as hides from pg_class
        where oid in (${APPEND_ONLY}, 'tasks'::regclass)
          or oid in (select inhrelid from pg_inherits where inhparent = 'ledger'::regclass)
    )
    select name, 'row-level security' as what from ours where hides
    union all select name, 'the policy ' || polname from ours join pg_policy on polrelid = ours.oid
    union all select name, 'the rule ' || rulename from ours join pg_rewrite on ev_class = ours.oid
    union all select name, 'a relation of the kind ' || relkind::text from ours where relkind not in ('r', 'p')
    union all
    select name, 'the child table ' || inhrelid::regclass::text from ours join pg_inherits on inhparent = ours.oid
      where ours.oid <> 'ledger'::regclass
    union all
    select name, 'the trigger ' || tgname from ours join pg_trigger on tgrelid = ours.oid
      where not tgisinternal and (name = 'tasks'
        or tgfoid <> all (select f.oid from ${ourFunctions('ledger')} where f.proname = 'refuse_ledger_change' and f.pronargs = 0))
    order by 1, 2`,
};

/** Mandate's functions. With another language, a body of ours could do something else. */
const bodies = {
  name: 'condition_function_bodies',
  text: `select f.proname::text as name, case when lanname in ('plpgsql', 'sql') then f.prosrc end as body,
      nspname::text as schema
    from ${ourFunctions('ledger')} join pg_language on pg_language.oid = f.prolang
      join pg_namespace on pg_namespace.oid = f.pronamespace
    order by 1`,
};

/** Whether triggers fire in this session. */
const firing = {
  name: 'condition_firing',
  text: "select current_setting('session_replication_role') as fires",
};

/** Functions that run as their owner, and could call those of another role in the schema (`schema.sql`). */
const unpinned = {
  name: 'condition_search_paths',
  text: `select f.proname::text as name from ${ourFunctions('ledger')}
    where f.prosecdef and not coalesce('search_path=pg_catalog, pg_temp' = any (f.proconfig), false) order by 1`,
};

interface GuardRow {
  readonly name: string;
  readonly by_statement: boolean;
  readonly by_row: boolean;
  readonly granted: readonly string[];
}

interface FunctionRow {
  readonly name: string;
  readonly body: string | null;
  readonly schema: string;
}

const REFUSING = 'refuse_ledger_change';
const IS_CHANGED = 'is not as the migrations make it';

/**
 * The functions whose whole body differs from that of the migrations. A newer release may have changed all of them but
 * the one that refuses.
 */
async function changedFunctions(run: Run): Promise<readonly string[]> {
  const { rows } = await run<FunctionRow>(bodies);
  const made = functionBodies(rows[0]?.schema ?? '');
  const isCurrent = (await readSchemaStatus(run)) === 'current';
  return [...made].flatMap(([name, body]) => {
    const found = rows.filter((row) => row.name === name);
    const isSame = found.length > 0 && found.every((row) => evenlySpaced(row.body ?? '') === evenlySpaced(body));
    return isSame || !(isCurrent || name === REFUSING) ? [] : [name];
  });
}

export async function guardCondition(run: Run): Promise<GuardCondition> {
  const { rows } = await run<GuardRow>(guards);
  const [state] = (await run<{ fires: string }>(firing)).rows;
  const changed = await changedFunctions(run);
  const open = (await run<{ name: string }>(unpinned)).rows;
  const others = (await run<{ name: string; what: string }>(foreign)).rows;
  return {
    tables: rows.length,
    missing: [
      ...changed.map((name) => ({
        table: 'ledger',
        what: `${name} ${name === REFUSING ? 'does not refuse' : IS_CHANGED}`,
      })),
      ...(state?.fires === 'origin'
        ? []
        : [{ table: 'ledger', what: 'session_replication_role keeps triggers from firing' }]),
      ...open.map(({ name }) => ({ table: 'ledger', what: `${name} finds functions of other roles` })),
      ...rows.flatMap(missingFrom),
      ...others.map(({ name, what }) => ({ table: name, what: `${what} ${IS_FOREIGN}` })),
    ],
  };
}

function missingFrom({ name, by_statement, by_row, granted }: GuardRow): readonly MissingGuard[] {
  return [
    ...(by_statement ? [] : ['no trigger refuses statements']),
    ...(by_row ? [] : ['no trigger refuses changes of rows']),
    ...granted,
  ].map((what) => ({ table: name, what }));
}
