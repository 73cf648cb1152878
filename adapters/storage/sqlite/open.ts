/**
 * Opens a SQLite database, or creates the file, without the schema. The database runs in a worker thread
 * (docs/decisions/0006-sqlite-in-a-thread.md), so the main thread does not load SQLite.
 */

import { Worker } from 'node:worker_threads';
import type { Decision } from '../../../application/decisions/decision.ts';
import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { TransparencyLog } from '../../../application/ports/transparency-log.ts';
import type { Storage, StorageSurroundings } from '../storage.ts';
import type { SqliteOptions } from './connection.ts';
import { DAMAGED, isDamage, isLarge } from './damaged-file.ts';
import { ANSWER_LIMIT_MS, RESTART_PAUSE_MS, REVOKING_ANSWER_LIMIT_MS } from './limits.ts';
import { NO_ANSWER } from './no-answer.ts';
import { type FileIdentity, fileAt, isSameFile, REPLACED } from './opened-file.ts';
import { sqliteOutbox } from './outbox.ts';
import { memoryOfThreads } from './remembered-ledger.ts';
import { checkLargeFile } from './worker/large-file-check.ts';
import type { DatabaseMethods } from './worker/main.ts';
import { type Call, type Client, connectTo } from './worker/rpc.ts';
import { supervise } from './worker/supervisor.ts';

const OTHERS_SERVE =
  'another process serves the same SQLite file, which is meant for one: both wait for each other, and each has its own rate limits';

/** The sources run as `.ts`, the build as `.js`. */
const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const THREAD = new URL(`./worker/main.${ENDING}`, import.meta.url);
const CHECK = new URL(`./worker/check-pages.${ENDING}`, import.meta.url);

export function startDatabaseThread(options: SqliteOptions): Promise<Client<DatabaseMethods>> {
  return connectTo<DatabaseMethods>(new Worker(THREAD, { workerData: options }));
}

/**
 * @param start tests pass their own thread
 * @throws if the file cannot be opened, or its file system does not support write-ahead logging
 */
export async function openSqlite(
  options: Pick<SqliteOptions, 'path' | 'isServed'>,
  { clock, log }: StorageSurroundings,
  start: (options: SqliteOptions) => Promise<Client<DatabaseMethods>> = startDatabaseThread,
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
  const call: Call<DatabaseMethods> = (...asked) =>
    isDamaged ? Promise.reject(new StorageUnavailable('The SQLite file is damaged')) : thread.call(...asked);
  const ask = callerOf(call);
  opened = await ask('openedFile')();
  if (await ask('othersServe')()) log.warn(OTHERS_SERVE);
  const checking = options.isServed && path !== ':memory:' && isLarge(path) ? checkLargeFile(CHECK, path) : undefined;
  const checked = checking?.fault.then((fault) => {
    if (fault === undefined) return;
    isDamaged = isDamage(fault);
    log.error(isDamaged ? DAMAGED.detail : 'the pages of the database file could not be checked', fault);
  });
  const isReplaced = () => opened !== undefined && !isSameFile(opened, fileAt(path));
  return {
    async decide<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input) {
      const verdict = await call('decide', [decision.name, input], answerLimit(decision.transaction));
      return verdict as Verdict;
    },
    agents: { find: ask('findAgent'), list: ask('listAgents') },
    tasks: {
      findGrant: ask('findGrant'),
      findSponsor: ask('findSponsor'),
      tokenFacts: ask('tokenFacts'),
      ofSponsor: ask('ownTasks'),
      list: ask('listTasks'),
      findListed: ask('findListedTask'),
      countLive: ask('countLiveTasks'),
    },
    statusLists: { find: ask('findStatusList'), list: ask('listStatusLists'), usage: ask('statusListUsage') },
    sponsors: {
      findBlocks: ask('findBlocks'),
      list: ask('listBlocks'),
      countBlocks: ask('countBlocks'),
      liftPendingUntil: ask('liftPendingUntil'),
    },
    sessions: { find: ask('findSession') },
    provisionedUsers: { find: ask('findUser'), list: ask('listUsers'), ofPerson: ask('usersOfPerson') },
    ledger: { page: ask('ledgerPage'), settledThrough: ask('settledThrough') },
    operatorActs: { list: ask('listActs') },
    sweeping: { forget: ask('forget'), eraseReasons: ask('eraseReasons') },
    checkpoints: checkpointsOf(call),
    outbox: sqliteOutbox(
      {
        setQueueing: ask('setQueueing'),
        due: ask('dueRecords'),
        remove: ask('removeQueued'),
        postpone: ask('postponeQueued'),
      },
      clock,
    ),
    transparencyLog: transparencyLogOf(call),
    readiness: {
      name: 'database',
      check: async () =>
        isDamaged ? DAMAGED : ask('checkReadiness')().catch(() => (isReplaced() ? REPLACED : NO_ANSWER)),
    },
    decisionsFail: ask('decisionsFail'),
    databaseTime: undefined,
    backlog: ask('backlog'),
    lines: () => [{ name: 'thread', waiting: thread.unanswered(), connections: undefined }],
    schemaStatus: ask('schemaStatus'),
    // No limit here: a migration waits for other processes that migrate, under its own limit.
    migrate: () => thread.call('migrate', [], Number.POSITIVE_INFINITY),
    // The ledger has no partitions.
    afterRestore: ask('afterRestore'),
    createPartitions: async () => undefined,
    async close() {
      checking?.stop();
      await Promise.all([thread.close(), checked]);
    },
  };
}

/** Turns a method of the thread into a method of a port. */
export function callerOf(call: Call<DatabaseMethods>) {
  return <Name extends keyof DatabaseMethods>(method: Name) =>
    (...args: Parameters<DatabaseMethods[Name]>) =>
      call(method, args, ANSWER_LIMIT_MS);
}

export function checkpointsOf(call: Call<DatabaseMethods>): Checkpoints {
  const ask = callerOf(call);
  return {
    unsealed: ask('unsealed'),
    records: ask('sealedRecords'),
    add: ask('addCheckpoint'),
    outside: ask('recordOutside'),
    newest: ask('newestCheckpoint'),
    page: ask('checkpointPage'),
    sealing: ask('sealing'),
    archivedThrough: ask('archivedThrough'),
  };
}

export function transparencyLogOf(call: Call<DatabaseMethods>): TransparencyLog {
  const ask = callerOf(call);
  return {
    state: ask('logState'),
    begin: ask('beginLog'),
    adoptOrigin: ask('adoptOrigin'),
    tiles: ask('logTiles'),
    grow: ask('growLog'),
    publish: ask('publishNote'),
    withdraw: ask('withdrawNote'),
    halt: ask('haltLog'),
    resume: ask('resumeLog'),
    keepCosignature: ask('keepCosignature'),
    cosignatures: ask('cosignatures'),
    keepProblem: ask('keepProblem'),
    problems: ask('witnessProblems'),
    keys: ask('logKeys'),
    signers: ask('logSigners'),
  };
}

function answerLimit(transaction: Decision<never, unknown>['transaction']): number {
  return transaction === 'shared' || transaction === 'own' ? ANSWER_LIMIT_MS : REVOKING_ANSWER_LIMIT_MS;
}
