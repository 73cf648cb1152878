/** The entry of the database thread: opens the database and serves the methods that the main thread calls. */

import { parentPort, workerData } from 'node:worker_threads';
import { catalogue } from '../../../../application/decisions/catalogue.ts';
import type { Decision } from '../../../../application/decisions/decision.ts';
import type { RestoreRequest } from '../../../../application/ports/storage.ts';
import { sqliteCheckpoints } from '../checkpoints.ts';
import { readBacklog, sqliteCondition } from '../condition.ts';
import { type Connection, openConnection, type SqliteOptions } from '../connection.ts';
import { isLarge } from '../damaged-file.ts';
import { sqliteDecisions } from '../decide.ts';
import { sqliteLedger } from '../ledger.ts';
import { migrateSqlite, readSchemaStatus } from '../migrate.ts';
import { sqliteOutboxEntries } from '../outbox.ts';
import {
  sqliteAgents,
  sqliteOperatorActs,
  sqliteProvisionedUsers,
  sqliteSessions,
  sqliteSponsors,
  sqliteStatusLists,
  sqliteSweeping,
  sqliteTasks,
} from '../queries.ts';
import { sqliteReadiness } from '../readiness.ts';
import { afterRestore } from '../restores.ts';
import { markServed, type ServingMark } from '../serving-mark.ts';
import { sqliteTransparencyLog } from '../transparency-log.ts';
import { checkPages } from './page-check.ts';
import { serve } from './rpc.ts';

const decisions = new Map(catalogue.map((decision) => [decision.name, decision]));

/** @throws Error for a decision that is not in the catalogue */
function decisionNamed(name: string): Decision<never, unknown> {
  const decision = decisions.get(name);
  if (decision === undefined) throw new Error(`There is no decision ${name} in the catalogue.`);
  return decision;
}

function methodsOf(connection: Connection, mark: ServingMark | undefined) {
  const { decide } = sqliteDecisions(connection);
  const agents = sqliteAgents(connection);
  const tasks = sqliteTasks(connection);
  const statusLists = sqliteStatusLists(connection);
  const sponsors = sqliteSponsors(connection);
  const users = sqliteProvisionedUsers(connection);
  const ledger = sqliteLedger(connection);
  const checkpoints = sqliteCheckpoints(connection);
  const outbox = sqliteOutboxEntries(connection);
  const log = sqliteTransparencyLog(connection);
  const condition = sqliteCondition(connection);
  return {
    decide: (name: string, input: unknown) => decide(decisionNamed(name), input as never),
    findAgent: agents.find,
    listAgents: agents.list,
    findGrant: tasks.findGrant,
    findSponsor: tasks.findSponsor,
    tokenFacts: tasks.tokenFacts,
    ownTasks: tasks.ofSponsor,
    listTasks: tasks.list,
    findListedTask: tasks.findListed,
    countLiveTasks: tasks.countLive,
    findStatusList: statusLists.find,
    listStatusLists: statusLists.list,
    statusListUsage: statusLists.usage,
    findBlocks: sponsors.findBlocks,
    findSession: sqliteSessions(connection).find,
    listBlocks: sponsors.list,
    countBlocks: sponsors.countBlocks,
    liftPendingUntil: sponsors.liftPendingUntil,
    findUser: users.find,
    listUsers: users.list,
    usersOfPerson: users.ofPerson,
    ledgerPage: ledger.page,
    settledThrough: ledger.settledThrough,
    listActs: sqliteOperatorActs(connection).list,
    forget: sqliteSweeping(connection).forget,
    eraseReasons: sqliteSweeping(connection).eraseReasons,
    unsealed: checkpoints.unsealed,
    sealedRecords: checkpoints.records,
    addCheckpoint: checkpoints.add,
    recordOutside: checkpoints.outside,
    newestCheckpoint: checkpoints.newest,
    checkpointPage: checkpoints.page,
    sealing: checkpoints.sealing,
    archivedThrough: checkpoints.archivedThrough,
    setQueueing: outbox.setQueueing,
    dueRecords: outbox.due,
    removeQueued: outbox.remove,
    postponeQueued: outbox.postpone,
    logState: log.state,
    beginLog: log.begin,
    adoptOrigin: log.adoptOrigin,
    logTiles: log.tiles,
    growLog: log.grow,
    publishNote: log.publish,
    withdrawNote: log.withdraw,
    haltLog: log.halt,
    resumeLog: log.resume,
    keepCosignature: log.keepCosignature,
    cosignatures: log.cosignatures,
    keepProblem: log.keepProblem,
    witnessProblems: log.problems,
    logKeys: log.keys,
    logSigners: log.signers,
    openedFile: async () => connection.file?.identity,
    othersServe: async () => mark?.othersServe === true,
    checkReadiness: sqliteReadiness(connection).check,
    decisionsFail: async () => connection.outcomes.failing() !== undefined,
    backlog: () => readBacklog(connection),
    schemaStatus: () => readSchemaStatus(connection),
    migrate: () => migrateSqlite(connection),
    afterRestore: (request: RestoreRequest) => afterRestore(connection, request),
    serverVersion: condition.server,
    guards: condition.guards,
    numbering: condition.numbering,
    sealingCondition: condition.sealing,
    outboxCondition: condition.outbox,
    isLoggedOut: condition.isLoggedOut,
    logoutEndedNothing: condition.logoutEndedNothing,
  };
}

export type DatabaseMethods = ReturnType<typeof methodsOf>;

if (parentPort === null) throw new Error('This file is the entry of a thread, not a program.');
const { path, readOnly = false, isServed = false, pageCheck, opened, memory }: SqliteOptions = workerData;

await serve(parentPort, async () => {
  const connection = await openConnection(path, readOnly ? 'read' : 'write', { opened, memory });
  try {
    // SQLite reads the file at the first query, and only then detects that it is no database.
    // A database that went back in time is opened, so that readiness can say it.
    if (!connection.wentBack()) await connection.read((run) => run('select count(*) from sqlite_schema'));
    if (pageCheck === 'if_small' && !isLarge(path)) await checkPages(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  // Without space for the mark the service starts all the same.
  const mark = isServed ? await markServed(path).catch(() => undefined) : undefined;
  return {
    methods: methodsOf(connection, mark),
    async close() {
      await connection.close();
      mark?.remove();
    },
  };
});
