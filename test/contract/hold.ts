/**
 * Stops decisions on their way, from outside, so that two of them can be made to meet. On Postgres a decision that
 * has taken its locks and read what it decides waits at the ledger's fence; on SQLite, where decisions are made one
 * after another, all wait for the write lock in the order in which they came.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { LOCK } from '../../adapters/persistence/postgres/locks.ts';
import type { Outside, TestDatabase } from '../support/databases.ts';

export interface Hold {
  /** Resolves once so many decisions wait, for whatever lock. */
  waiting(decisions: number): Promise<void>;
  release(): Promise<void>;
}

const WAITERS = `select count(*)::integer as waiters from pg_locks
  where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`;

export async function holdAppends({ engine }: TestDatabase, outside: Outside): Promise<Hold> {
  if (engine === 'sqlite') {
    await outside.sql('begin immediate');
    return { waiting: async () => undefined, release: async () => void (await outside.sql('commit')) };
  }
  await outside.sql('begin');
  await outside.sql(`select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)`);
  return {
    waiting: (decisions) => untilWaiting(outside, decisions),
    release: async () => void (await outside.sql('commit')),
  };
}

export async function untilWaiting(outside: Outside, decisions: number): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const [row] = await outside.sql(WAITERS);
    if (row?.waiters === decisions) return;
    await pause(5);
  }
  throw new Error(`there were never ${decisions} decisions waiting`);
}
