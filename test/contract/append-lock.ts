/**
 * Lets a second connection hold a lock that every append needs, so that decisions overlap. On Postgres a decision waits
 * at its append and keeps its own locks. On SQLite all decisions wait for the write lock, in the order of their calls.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { FreshDatabase, OutsideConnection, TestDatabase } from '../support/databases.ts';

export interface AppendLock {
  /** Resolves when this many decisions wait for advisory locks. */
  untilWaiting(decisions: number): Promise<void>;
  /** Resolves when this many decisions wait for an advisory lock or a row. */
  untilBlocked(decisions: number): Promise<void>;
  /** Resolves when no further decision has started to wait for 50 ms, at the latest after a second. */
  untilNoNewWaiter(): Promise<void>;
  release(): Promise<void>;
}

/** `most` is shorter than the lock timeout of Postgres (two seconds). SQLite does not show which decisions wait. */
const NEW_WAITER_MS = { most: 1_000, onSqlite: 50, quiet: 50 } as const;

/** The time limit until the expected number of decisions wait. */
const WAITING_MS = 15_000;

const WAITERS = `select count(*)::integer as waiters from pg_locks
  where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * A lock of a transaction or a row names no database, but its waiter also holds locks that do. This reads `pg_locks`
 * only, because in a transaction `pg_stat_activity` shows no session that began after its first read.
 */
const BLOCKED = `select count(distinct pid)::integer as blocked from pg_locks where not granted and pid in (
  select pid from pg_locks where database = (select oid from pg_database where datname = current_database()))`;

export async function lockAppends({ engine }: TestDatabase, outside: OutsideConnection): Promise<AppendLock> {
  if (engine === 'sqlite') {
    await outside.sql('begin immediate');
    return {
      untilWaiting: async () => undefined,
      untilBlocked: async () => undefined,
      untilNoNewWaiter: () => pause(NEW_WAITER_MS.onSqlite),
      release: async () => void (await outside.sql('commit')),
    };
  }
  await outside.sql('begin');
  await outside.sql(`select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)`);
  return {
    untilWaiting: (decisions) => untilWaiting(outside, decisions),
    untilBlocked: (decisions) => untilBlocked(outside, decisions),
    untilNoNewWaiter: () => untilNoNewWaiter(outside),
    release: async () => void (await outside.sql('commit')),
  };
}

/** On Postgres, lets sealers wait 20 s for running appends, which tests delay. */
export async function raiseSealerLockTimeout({ outside }: FreshDatabase): Promise<void> {
  const owner = await outside?.('owner');
  await owner?.sql("alter function unsealed() set lock_timeout to '20s'");
  await owner?.close();
}

export async function untilWaiting(outside: OutsideConnection, decisions: number): Promise<void> {
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(WAITERS);
    if (row?.waiters === decisions) return;
    await pause(5);
  }
  throw new Error(`${decisions} decisions never waited at one time`);
}

/** Resolves when this many decisions on Postgres wait for an advisory lock or a row. */
export async function untilBlocked(outside: OutsideConnection, decisions: number): Promise<void> {
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(BLOCKED);
    if (row?.blocked === decisions) return;
    await pause(5);
  }
  throw new Error(`${decisions} decisions were never blocked at one time`);
}

async function untilNoNewWaiter(outside: OutsideConnection): Promise<void> {
  const started = performance.now();
  let waiting = 0;
  let last = started;
  const isOver = (now: number) =>
    now - started > NEW_WAITER_MS.most || (waiting > 0 && now - last > NEW_WAITER_MS.quiet);
  while (!isOver(performance.now())) {
    const [row] = await outside.sql(WAITERS);
    const waiters = Number(row?.waiters);
    if (waiters > waiting) last = performance.now();
    waiting = Math.max(waiting, waiters);
    await pause(5);
  }
}
