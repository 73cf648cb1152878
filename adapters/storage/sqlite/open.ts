/**
 * Opens a SQLite database, or creates the file, without the schema. The database runs in a worker thread
 * (docs/decisions/0006-sqlite-in-a-thread.md), so the main thread does not load SQLite.
 *
 * A call goes to the thread (start-thread.ts, `worker`), which has the only connection (connection.ts). Decisions that
 * wait together share a commit (group-commit.ts). Each reads its facts (facts.ts), is judged (decide.ts), writes
 * effects (effects.ts) and appends records (append.ts). Queries run through ask.ts.
 *
 * Decisions are refused if the file was replaced (opened-file.ts), overwritten (overwritten-file.ts), restored from a backup
 * (remembered-ledger.ts) or damaged (damaged-file.ts). A second service is noticed by serving-mark.ts.
 */

import type { Decision } from '../../../application/decisions/decision.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Storage, StorageSurroundings } from '../storage.ts';
import type { SqliteOptions } from './connection.ts';
import { DAMAGED, isDamage, isLarge } from './damaged-file.ts';
import { ANSWER_LIMIT_MS, RESTART_PAUSE_MS, REVOKING_ANSWER_LIMIT_MS } from './limits.ts';
import { NO_ANSWER } from './no-answer.ts';
import { type FileIdentity, fileAt, isSameFile, OVERWRITTEN, REPLACED } from './opened-file.ts';
import { sqliteOutbox } from './outbox.ts';
import { memoryOfThreads, overwrittenFlag } from './remembered-ledger.ts';
import { startDatabaseThread } from './start-thread.ts';
import { checkLargeFile } from './worker/large-file-check.ts';
import type { DatabasePorts } from './worker/main.ts';
import { portsOver } from './worker/ports.ts';
import type { Call, Client } from './worker/rpc.ts';
import { supervise } from './worker/supervisor.ts';

const OTHERS_SERVE =
  'another process serves the same SQLite file, which is meant for one: both wait for each other, and each has its own rate limits';

/** The sources run as `.ts`, the build as `.js`. */
const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const CHECK = new URL(`./worker/check-pages.${ENDING}`, import.meta.url);

/**
 * @param start tests pass their own thread
 * @throws if the file cannot be opened, or its file system does not support write-ahead logging
 */
export async function openSqlite(
  options: Pick<SqliteOptions, 'path' | 'isServed'>,
  { clock, log }: StorageSurroundings,
  start: (options: SqliteOptions) => Promise<Client> = startDatabaseThread,
): Promise<Storage> {
  const { path } = options;
  let opened: FileIdentity | undefined;
  const pageCheck = options.isServed ? { pageCheck: 'if_small' as const } : {};
  const memory = memoryOfThreads();
  // A thread that is restarted opens the file that the first one checked.
  const thread = await supervise(
    () => start({ ...options, ...(opened === undefined ? pageCheck : {}), opened, memory }),
    {
      log,
      restartAfterMs: path === ':memory:' ? undefined : RESTART_PAUSE_MS,
    },
  );
  let isDamaged = false;
  const call: Call = (...asked) =>
    isDamaged ? Promise.reject(new StorageUnavailable('The SQLite file is damaged')) : thread.call(...asked);
  const within = (limitMs: number) => portsOver<DatabasePorts>(thread.methods, call, limitMs);
  const { database, outbox, readiness, condition: _, ...ports } = within(ANSWER_LIMIT_MS);
  const stopping = within(REVOKING_ANSWER_LIMIT_MS).database;
  // A migration waits for other processes that migrate, under its own limit.
  const migrating = portsOver<DatabasePorts>(thread.methods, thread.call, Number.POSITIVE_INFINITY).database;
  opened = await database.openedFile();
  if (await database.othersServe()) log.warn(OTHERS_SERVE);
  const checking = options.isServed && path !== ':memory:' && isLarge(path) ? checkLargeFile(CHECK, path) : undefined;
  const checked = checking?.fault.then((fault) => {
    if (fault === undefined) return;
    isDamaged = isDamage(fault);
    log.error(isDamaged ? DAMAGED.detail : 'the pages of the database file could not be checked', fault);
  });
  const isReplaced = () => opened !== undefined && !isSameFile(opened, fileAt(path));
  const whyNoAnswer = () => {
    if (isReplaced()) return REPLACED;
    return overwrittenFlag(memory)[0] === 1 ? OVERWRITTEN : NO_ANSWER;
  };
  return {
    async decide<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input) {
      const { transaction, name } = decision;
      const { decide } = transaction === 'shared' || transaction === 'own' ? database : stopping;
      return (await decide(name, input)) as Verdict;
    },
    ...ports,
    outbox: sqliteOutbox(outbox, clock),
    readiness: {
      name: 'database',
      check: async () => (isDamaged ? DAMAGED : readiness.check().catch(whyNoAnswer)),
    },
    decisionsFail: database.decisionsFail,
    databaseTime: undefined,
    backlog: database.backlog,
    lines: () => [{ name: 'thread', waiting: thread.unanswered(), connections: undefined }],
    schemaStatus: database.schemaStatus,
    migrate: migrating.migrate,
    afterRestore: database.afterRestore,
    // The ledger has no partitions.
    createPartitions: async () => undefined,
    async close() {
      checking?.stop();
      await Promise.all([thread.close(), checked]);
    },
  };
}
