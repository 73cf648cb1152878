/**
 * Stops decisions on their way, from outside, so that two of them can be made to meet. On Postgres a decision that
 * has taken its locks and read what it decides waits at the ledger's fence; on SQLite, where decisions are made one
 * after another, all wait for the write lock in the order in which they came.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import type { FreshDatabase, Outside, TestDatabase } from '../support/databases.ts';

export interface Hold {
  /** Resolves once so many decisions wait, for whatever lock. */
  waiting(decisions: number): Promise<void>;
  /** Resolves once so many decisions wait for a lock of any kind: an advisory lock, or a row's. */
  blocked(decisions: number): Promise<void>;
  /** Resolves once no more come to wait, or when nobody should be kept waiting any longer. */
  gathering(): Promise<void>;
  release(): Promise<void>;
}

/** A lock is waited for two seconds on Postgres, one on SQLite, where nobody can see who waits. */
const GATHERING_MS = { most: 1_000, unseen: 50, nobodyCame: 50 } as const;

/** Who does not wait by then never will. */
const WAITING_MS = 15_000;

const WAITERS = `select count(*)::integer as waiters from pg_locks
  where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * A transaction's or a row's lock names no database, but whoever waits for one holds others that do. Of locks alone:
 * within a transaction `pg_stat_activity` shows no session that began after it was first read.
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

/** On Postgres, for sealers that are kept waiting by us, and by a machine that stands still for a moment besides. */
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
  throw new Error(`there were never ${decisions} decisions waiting`);
}

/** On Postgres, resolves once so many decisions wait for a lock of any kind: an advisory lock, or a row's. */
export async function untilBlocked(outside: Outside, decisions: number): Promise<void> {
  for (const began = performance.now(); performance.now() - began < WAITING_MS; ) {
    const [row] = await outside.sql(BLOCKED);
    if (row?.blocked === decisions) return;
    await pause(5);
  }
  throw new Error(`there were never ${decisions} decisions blocked`);
}

async function untilGathered(outside: Outside): Promise<void> {
  const started = performance.now();
  let waiting = 0;
  let last = started;
  const isOver = (now: number) =>
    now - started > GATHERING_MS.most || (waiting > 0 && now - last > GATHERING_MS.nobodyCame);
  while (!isOver(performance.now())) {
    const [row] = await outside.sql(WAITERS);
    const waiters = Number(row?.waiters);
    if (waiters > waiting) last = performance.now();
    waiting = Math.max(waiting, waiters);
    await pause(5);
  }
}
