/**
 * Lets a second connection hold a lock that every append needs, so that decisions overlap. On Postgres a decision waits
 * at its append and keeps its own locks. On SQLite all decisions wait for the write lock, in the order of their calls.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { FreshDatabase, OutsideConnection, TestDatabase } from '../support/databases.ts';

export interface AppendLock {
  /** Resolves when this many decisions wait for advisory locks. Releases the lock before it throws: the next test needs it. */
  untilWaiting(decisions: number): Promise<void>;
  /** Resolves when this many decisions wait for an advisory lock or a row. Releases the lock before it throws. */
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
const BLOCKED = `select count(distinct pid)::integer as waiters from pg_locks where not granted and pid in (
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
  const release = async () => void (await outside.sql('commit'));
  const orRelease = async (waiting: Promise<void>) => {
    try {
      await waiting;
    } catch (error) {
      await release();
      throw error;
    }
  };
  return {
    untilWaiting: (decisions) => orRelease(untilWaiting(outside, decisions)),
    untilBlocked: (decisions) => orRelease(untilBlocked(outside, decisions)),
    untilNoNewWaiter: () => untilNoNewWaiter(outside),
    release,
  };
}

/** On Postgres, lets sealers wait 20 s for running appends, which tests delay. */
export async function raiseSealerLockTimeout({ outside }: FreshDatabase): Promise<void> {
  const owner = await outside?.('owner');
  await owner?.sql("alter function unsealed() set lock_timeout to '20s'");
  await owner?.close();
}

export function untilWaiting(outside: OutsideConnection, decisions: number): Promise<void> {
  return untilCounted(outside, WAITERS, decisions);
}

/** Resolves when this many decisions on Postgres wait for an advisory lock or a row. */
export function untilBlocked(outside: OutsideConnection, decisions: number): Promise<void> {
  return untilCounted(outside, BLOCKED, decisions);
}

async function untilCounted(outside: OutsideConnection, count: string, decisions: number): Promise<void> {
  const seen = new Set<unknown>();
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(count);
    if (row?.waiters === decisions) return;
    seen.add(row?.waiters);
    await pause(5);
  }
  throw new Error(`${decisions} decisions never waited at one time, but: ${[...seen].join(', ')}`);
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
