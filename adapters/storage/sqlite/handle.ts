/**
 * A better-sqlite3 database of which nothing is ever garbage collected. Node from 24.19 on aborts the process when it
 * collects a database or a statement of better-sqlite3 12 (nodejs/node#65446). The memory that this keeps is small: a
 * process opens one database, and compiles each statement once.
 *
 * The driver's `pragma` and `transaction` prepare statements that are not kept; `exec` prepares none.
 */

import Database from 'better-sqlite3';
import type { Bound, Built, Rows } from '../rows/column.ts';

/** Runs one statement. */
export type Run = <Row>(query: Built | string, values?: readonly Bound[]) => Rows<Row>;

export interface Handle {
  /** Compiles each text once. */
  prepare<Row>(sql: string): Database.Statement<unknown[], Row>;
  /** Runs any number of statements without parameters. Rows are dropped. */
  exec(sql: string): void;
  inTransaction(): boolean;
  close(): void;
}

/** References every handle until its thread ends. */
const opened = new Set<Handle>();

export function openHandle(path: string, options: Database.Options = {}): Handle {
  const database = new Database(path, options);
  const statements = new Map<string, Database.Statement<unknown[], unknown>>();
  const handle: Handle = {
    prepare: <Row>(sql: string) => {
      const statement = statements.get(sql) ?? database.prepare<unknown[], unknown>(sql);
      statements.set(sql, statement);
      return statement as Database.Statement<unknown[], Row>;
    },
    exec: (sql) => void database.exec(sql),
    inTransaction: () => database.inTransaction,
    close: () => void database.close(),
  };
  opened.add(handle);
  return handle;
}
