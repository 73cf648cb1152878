/** Reads the condition of a SQLite database. */

import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import type { Numbering, StorageCondition } from '../../../application/ports/storage.ts';
import { queriedCondition } from '../queries/condition.ts';
import { evenlySpaced, IS_FOREIGN } from '../rows/migrations.ts';
import { DEFINITION, type SchemaItem } from '../rows/schema-items.ts';
import { appendOnlyTables } from '../tables.ts';
import { isBeyond } from './append.ts';
import { sqliteAsk } from './ask.ts';
import type { Connection } from './connection.ts';
import { readFact } from './facts.ts';
import { differencesIn, readSchemaStatus, schemaInMemory } from './migrate.ts';

const selectVersion = 'select sqlite_version() as version';
const selectGuards = "select type, name, tbl_name, sql from sqlite_schema where type in ('trigger', 'table')";

/** The parts of the condition that the file answers. open-ledger.ts adds the others. */
export function sqliteCondition(connection: Connection) {
  const { read } = connection;
  return {
    ...queriedCondition(sqliteAsk(connection)),
    server: () => read((run) => `SQLite ${run<{ version: string }>(selectVersion).rows[0]?.version ?? ''}`),
    schema: () => readSchemaStatus(connection),
    schemaDifferences: () => read((run) => differencesIn(run, (item) => !isOfGuards(item))),
    async guards() {
      const isCurrent = (await readSchemaStatus(connection)) === 'current';
      const found = await read((run) => run<GuardRow>(selectGuards).rows);
      const made = madeByMigrations();
      // A newer release may have more triggers, and tables with more columns.
      const missing = made.filter((guard) => isGuard(guard, isCurrent) && !found.some((one) => isSame(guard, one)));
      const foreign = found.filter(({ type, name }) => type === 'trigger' && !made.some((one) => one.name === name));
      return {
        tables: appendOnlyTables.length,
        missing: [
          ...missing.map(({ type, name, tbl_name: table }) => ({
            table,
            what: `the ${type} ${name} is not there, or not as the migrations make it`,
          })),
          ...(isCurrent ? foreign : []).map(({ name, tbl_name: table }) => ({
            table,
            what: `the trigger ${name} ${IS_FOREIGN}`,
          })),
        ],
      };
    },
    // AUTOINCREMENT never reuses a number.
    numbering: () => read((run): Numbering => (isBeyond(run) ? 'beyond' : 'ok')),
    isLoggedOut: ({ issuedAt, ...who }, at) =>
      read((run) => {
        const answers = logoutQuestions(who).map((question) => question && readFact(run, question));
        return isLoggedOut(answers, issuedAt, at);
      }),
  } satisfies Partial<StorageCondition>;
}

/** `guards` compares these. */
function isOfGuards({ kind, of }: SchemaItem): boolean {
  return kind === 'trigger' || (kind === DEFINITION && appendOnlyTables.includes(of));
}

interface GuardRow {
  readonly type: 'trigger' | 'table';
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** The tables and triggers of the schema. */
function madeByMigrations(): readonly GuardRow[] {
  const schema = schemaInMemory();
  try {
    return schema.prepare<GuardRow>(selectGuards).all();
  } finally {
    schema.close();
  }
}

/** The ledger's triggers, and the tables that have them. */
function isGuard({ type, tbl_name }: GuardRow, isCurrent: boolean): boolean {
  return appendOnlyTables.includes(tbl_name) && (type === 'trigger' || isCurrent);
}

/**
 * Compares the whole texts: a trigger of the same name may be on another table, or have a condition that is never true.
 */
function isSame(one: GuardRow, other: GuardRow): boolean {
  return (
    one.type === other.type &&
    one.name === other.name &&
    one.tbl_name === other.tbl_name &&
    evenlySpaced(one.sql ?? '') === evenlySpaced(other.sql ?? '')
  );
}
