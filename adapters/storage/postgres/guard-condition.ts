/**
 * Whether everything that keeps the ledger from being changed is in its place, on every partition too
 * (`schema.sql`).
 */

import type { GuardCondition, MissingGuard } from '../../../application/ports/storage.ts';
import type { Run } from './connections.ts';

/**
 * A trigger counts by what it does, not by its name: refuse_ledger_change, before, without a condition or a choice of
 * columns, enabled. The bits of `tgtype` are row 1, before 2, insert 4, delete 8, update 16, truncate 32.
 */
const guards = {
  name: 'condition_guards',
  text: `
    with partitions as (
      select inhrelid as oid from pg_inherits where inhparent = 'ledger'::regclass
    ), guarded as (
      select oid, relname::text as name, relacl, relowner, oid = 'ledger'::regclass or oid in (table partitions) as by_row
        from pg_class
        where oid in ('ledger'::regclass, 'ledger_archives'::regclass, 'checkpoints'::regclass) or oid in (table partitions)
    ), active as (
      select tgrelid, tgtype from pg_trigger
        where tgfoid = 'refuse_ledger_change'::regproc and tgenabled in ('O', 'A') and tgqual is null and tgattr = ''
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

/** What the triggers call must refuse, and they must fire. */
const refusal = {
  name: 'condition_refusal',
  text: `select prosrc ~ '^\\s*begin\\s+raise exception ' as refuses, current_setting('session_replication_role') as fires
    from pg_proc where oid = 'refuse_ledger_change'::regproc`,
};

interface GuardRow {
  readonly name: string;
  readonly by_statement: boolean;
  readonly by_row: boolean;
  readonly granted: readonly string[];
}

export async function guardCondition(run: Run): Promise<GuardCondition> {
  const { rows } = await run<GuardRow>(guards);
  const [state] = (await run<{ refuses: boolean; fires: string }>(refusal)).rows;
  return {
    tables: rows.length,
    missing: [
      ...(state?.refuses === true ? [] : [{ table: 'ledger', what: 'refuse_ledger_change does not refuse' }]),
      ...(state?.fires === 'origin'
        ? []
        : [{ table: 'ledger', what: 'session_replication_role keeps triggers from firing' }]),
      ...rows.flatMap(missingFrom),
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
