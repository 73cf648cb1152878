/** Finds what keeps decisions waiting: locks of other sessions (a migration of another tool, an open transaction), a standby. */

import type { LockHolder } from '../../../application/ports/storage.ts';
import type { Run } from './pool/pool.ts';

/**
 * The locks on our tables in modes that conflict with writes, also those that a session only waits for: later writes wait
 * behind it. And the sessions for which those of the serving role wait, for example for rows. Reads only catalogs, so it
 * waits for none of these locks. `mandate` is this service, on any replica.
 */
const holders = {
  name: 'lock_holders',
  text: `
    with ours as (
      select c.oid, c.relname::text as name from pg_class c join pg_class l on l.oid = to_regclass('ledger')
        where c.relnamespace = l.relnamespace and c.relowner = l.relowner and c.relkind in ('r', 'p')
    ), held as (
      -- A prepared transaction has no process.
      select coalesce(pid, 0) as pid, ours.name from pg_locks join ours on ours.oid = relation
        where locktype = 'relation' and database = (select oid from pg_database where datname = current_database())
          and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      union all
      -- The lock of appends (schema.sql), which any role of the database can take.
      select coalesce(pid, 0), null from pg_locks
        where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
          and classid = 1296105476 and objid = 0 and objsubid = 2 and mode = 'ExclusiveLock'
    ), blocking as (
      select blocker as pid, null as name from pg_stat_activity, unnest(pg_blocking_pids(pid)) blocker
        where usename = current_user and datname = current_database() and wait_event_type = 'Lock'
    )
    select pid, min(name) as name from (table held union all table blocking) found
      where pid <> pg_backend_pid() and not exists (
        select from pg_stat_activity a
          where a.pid = found.pid and a.usename = current_user and a.application_name = 'mandate'
      )
      group by pid order by min(name) nulls last, pid limit 4`,
};

/** Whether a lock keeps introspection waiting: it reads these tables. */
const isIntrospectionLocked = {
  name: 'is_introspection_locked',
  text: `select exists (
      select from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock'
        and relation in (to_regclass('tasks'), to_regclass('agents'), to_regclass('revoked_tokens'))
    ) as locked`,
};

/** Commits of the serving role that have waited for a synchronous standby for more than a moment. */
const awaiting = {
  name: 'awaiting_standby',
  text: `select count(*)::integer as sessions from pg_stat_activity
    where usename = current_user and datname = current_database() and wait_event = 'SyncRep'
      and state_change < clock_timestamp() - interval '1 second'`,
};

export async function awaitingStandby(run: Run): Promise<number> {
  return (await run<{ sessions: number }>(awaiting)).rows[0]?.sessions ?? 0;
}

export async function lockHolders(run: Run): Promise<readonly LockHolder[]> {
  const { rows } = await run<{ pid: number; name: string | null }>(holders);
  return rows.map(({ pid, name }) => ({ pid, table: name ?? undefined }));
}

export async function doLocksStopIntrospection(run: Run): Promise<boolean> {
  return (await run<{ locked: boolean }>(isIntrospectionLocked)).rows[0]?.locked === true;
}
