/**
 * Stops decisions from outside, so that two of them meet. On Postgres a decision that has its locks and its facts waits
 * for the ledger's fence. SQLite runs one decision after another: all wait for the write lock, in the order of their calls.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { FreshDatabase, Outside, TestDatabase } from '../support/databases.ts';

export interface Hold {
  /** Resolves when this many decisions wait for advisory locks. */
  waiting(decisions: number): Promise<void>;
  /** Resolves when this many decisions wait for an advisory lock or a row. */
  blocked(decisions: number): Promise<void>;
  /** Resolves when no further decision comes to wait, at the latest after a second. */
  gathering(): Promise<void>;
  release(): Promise<void>;
}

/** Less than the lock timeouts: two seconds on Postgres, one on SQLite. SQLite does not show which decisions wait. */
const GATHERING_MS = { most: 1_000, unseen: 50, quiet: 50 } as const;

/** A decision that does not wait by then never will. */
const WAITING_MS = 15_000;

const WAITERS = `select count(*)::integer as waiters from pg_locks
  where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * The lock of a transaction or a row names no database, but its waiter holds other locks that do. Reads `pg_locks` only:
 * in a transaction, `pg_stat_activity` shows no session that began after its first read.
 */
const BLOCKED = `select count(distinct pid)::integer as blocked from pg_locks where not granted and pid in (
  select pid from pg_locks where database = (select oid from pg_database where datname = current_database()))`;

export async function holdAppends({ engine }: TestDatabase, outside: Outside): Promise<Hold> {
  if (engine === 'sqlite') {
    await outside.sql('begin immediate');
    return {
      waiting: async () => undefined,
      blocked: async () => undefined,
      gathering: () => pause(GATHERING_MS.unseen),
      release: async () => void (await outside.sql('commit')),
    };
  }
  await outside.sql('begin');
  await outside.sql(`select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)`);
  return {
    waiting: (decisions) => untilWaiting(outside, decisions),
    blocked: (decisions) => untilBlocked(outside, decisions),
    gathering: () => untilGathered(outside),
    release: async () => void (await outside.sql('commit')),
  };
}

/** On Postgres: lets sealers wait 20 s for the fence, because tests keep them waiting on slow machines. */
export async function haveTimeAtTheFence({ outside }: FreshDatabase): Promise<void> {
  const owner = await outside?.('owner');
  await owner?.sql("alter function unsealed() set lock_timeout to '20s'");
  await owner?.close();
}

export async function untilWaiting(outside: Outside, decisions: number): Promise<void> {
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(WAITERS);
    if (row?.waiters === decisions) return;
    await pause(5);
  }
  throw new Error(`${decisions} decisions never waited at one time`);
}

/** On Postgres: resolves when this many decisions wait for an advisory lock or a row. */
export async function untilBlocked(outside: Outside, decisions: number): Promise<void> {
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(BLOCKED);
    if (row?.blocked === decisions) return;
    await pause(5);
  }
  throw new Error(`${decisions} decisions were never blocked at one time`);
}

async function untilGathered(outside: Outside): Promise<void> {
  const started = performance.now();
  let waiting = 0;
  let last = started;
  const isOver = (now: number) => now - started > GATHERING_MS.most || (waiting > 0 && now - last > GATHERING_MS.quiet);
  while (!isOver(performance.now())) {
    const [row] = await outside.sql(WAITERS);
    const waiters = Number(row?.waiters);
    if (waiters > waiting) last = performance.now();
    waiting = Math.max(waiting, waiters);
    await pause(5);
  }
}
