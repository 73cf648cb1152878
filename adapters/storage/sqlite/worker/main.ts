/**
 * The entry of the database thread: opens the database and serves its ports to the main thread.
 *
 * The main thread calls a method by the names of port and method (ports.ts). rpc.ts sends calls and answers as
 * messages, and errors.ts keeps the class of an error. supervisor.ts restarts a thread that died. A decision is sent
 * by its name and input. The pages of a small file are checked here (page-check.ts), those of a large one in a process
 * (large-file-check.ts, check-pages.ts).
 */

import { parentPort, workerData } from 'node:worker_threads';
import { catalogue } from '../../../../application/decisions/catalogue.ts';
import type { Decision } from '../../../../application/decisions/decision.ts';
import type { RestoreRequest } from '../../../../application/ports/storage.ts';
import { readBacklog } from '../../queries/backlog.ts';
import { queryPorts } from '../../queries/ports.ts';
import { sweeping } from '../../queries/sweeping.ts';
import { sqliteAsk, sqliteChange } from '../ask.ts';
import { sqliteCheckpoints } from '../checkpoints.ts';
import { sqliteCondition } from '../condition.ts';
import { type Connection, openConnection, type SqliteOptions } from '../connection.ts';
import { isLarge } from '../damaged-file.ts';
import { sqliteDecisions } from '../decide.ts';
import { sqliteLedger } from '../ledger.ts';
import { migrateSqlite, readSchemaStatus } from '../migrate.ts';
import { sqliteOutboxEntries } from '../outbox.ts';
import { sqliteReadiness } from '../readiness.ts';
import { afterRestore } from '../restores.ts';
import { markServed, type ServingMark } from '../serving-mark.ts';
import { sqliteFreeing } from '../sweeping.ts';
import { checkPages } from './page-check.ts';
import { methodsOf } from './ports.ts';
import { serve } from './rpc.ts';

const decisions = new Map(catalogue.map((decision) => [decision.name, decision]));

/** @throws Error for a decision that is not in the catalogue */
function decisionNamed(name: string): Decision<never, unknown> {
  const decision = decisions.get(name);
  if (decision === undefined) throw new Error(`There is no decision ${name} in the catalogue.`);
  return decision;
}

function portsOf(connection: Connection, mark: ServingMark | undefined) {
  const { decide } = sqliteDecisions(connection);
  const ask = sqliteAsk(connection);
  const change = sqliteChange(connection);
  return {
    ...queryPorts(ask, change),
    ledger: sqliteLedger(connection),
    sweeping: sweeping(change, sqliteFreeing),
    checkpoints: sqliteCheckpoints(connection),
    outbox: sqliteOutboxEntries(connection),
    readiness: sqliteReadiness(connection),
    condition: sqliteCondition(connection),
    database: {
      decide: (name: string, input: unknown) => decide(decisionNamed(name), input as never),
      openedFile: async () => connection.file?.identity,
      othersServe: async () => mark?.othersServe === true,
      decisionsFail: async () => connection.outcomes.failing() !== undefined,
      backlog: () => readBacklog(ask),
      schemaStatus: () => readSchemaStatus(connection),
      migrate: () => migrateSqlite(connection),
      afterRestore: (request: RestoreRequest) => afterRestore(connection, request),
    },
  };
}

export type DatabasePorts = ReturnType<typeof portsOf>;

if (parentPort === null) throw new Error('This file is the entry of a thread, not a program.');
const { path, readOnly = false, isServed = false, pageCheck, opened, memory }: SqliteOptions = workerData;

await serve(parentPort, async () => {
  const connection = await openConnection(path, readOnly ? 'read' : 'write', { opened, memory });
  try {
    // SQLite reads the file at the first query, and only then detects that it is no database.
    // A database that went back in time, or was overwritten, is opened, so that readiness can say it.
    if (!connection.wentBack() && !connection.wasOverwritten())
      await connection.read((run) => run('select count(*) from sqlite_schema'));
    if (pageCheck === 'if_small' && !isLarge(path)) await checkPages(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  // If there is no disk space for the mark, the service starts without it.
  const mark = isServed ? await markServed(path).catch(() => undefined) : undefined;
  return {
    methods: methodsOf(portsOf(connection, mark)),
    async close() {
      await connection.close();
      mark?.remove();
    },
  };
});
