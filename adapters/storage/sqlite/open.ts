/**
 * Opens a SQLite database; the file is created when there is none, the schema is not. The database lives in a thread of
 * its own (docs/decisions/0006-sqlite-in-a-thread.md); nothing of SQLite is loaded here.
 */

import { Worker } from 'node:worker_threads';
import type { Storage, StorageSurroundings } from '../storage.ts';
import { ANSWER_LIMIT_MS, RESTART_PAUSE_MS, STOPPING_ANSWER_LIMIT_MS } from './limits.ts';
import { sqliteOutbox } from './outbox.ts';
import { NO_ANSWER } from './readiness.ts';
import type { Served } from './served.ts';
import { startThread } from './thread/database-thread.ts';
import { lastingThread } from './thread/lasting-thread.ts';
import { type Remote, remote } from './thread/remote.ts';

export interface SqliteOptions {
  /** Of the database file, or `:memory:`. */
  readonly path: string;
  /** Whether it must stay as it is, to the byte. */
  readonly readOnly?: boolean;
}

/** Beside this file: `.ts` among the sources, `.js` where they are built. */
export const BEGINNING = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

/**
 * @param start makes the thread; tests look after it
 * @throws when the file cannot be opened, or lies where write-ahead logging does not work
 */
export async function openSqlite(
  options: Pick<SqliteOptions, 'path'>,
  { clock, log }: StorageSurroundings,
  start: () => Worker = () => new Worker(BEGINNING, { workerData: options }),
): Promise<Storage> {
  const thread = await lastingThread(() => startThread(start(), log), {
    log,
    restartAfter: options.path === ':memory:' ? undefined : RESTART_PAUSE_MS,
  });
  const within = (limit: number): Remote<Served> =>
    remote(thread.shape, (name, given) => thread.call(name, given, limit));
  const { ports, schema, backlog } = within(ANSWER_LIMIT_MS);
  const { outboxEntries, ...whole } = ports;
  const { tasks, sponsors, signals, provisionedUsers } = within(STOPPING_ANSWER_LIMIT_MS).ports;
  return {
    ...whole,
    tasks: { ...whole.tasks, end: tasks.end },
    sponsors: { ...whole.sponsors, block: sponsors.block },
    signals,
    provisionedUsers: { ...provisionedUsers, find: whole.provisionedUsers.find, list: whole.provisionedUsers.list },
    outbox: sqliteOutbox(outboxEntries, clock),
    readiness: { ...ports.readiness, check: () => ports.readiness.check().catch(() => NO_ANSWER) },
    backlog,
    lines: () => [{ name: 'thread', waiting: thread.unanswered(), connections: undefined }],
    schemaStatus: schema.status,
    // It waits for one of another process, and has limits of its own.
    migrate: within(Number.POSITIVE_INFINITY).schema.migrate,
    // The ledger is one table here.
    createPartitions: async () => undefined,
    close: thread.close,
  };
}
