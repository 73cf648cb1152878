/**
 * A better-sqlite3 database of which nothing is ever garbage collected. Node from 24.19 on aborts the process when it
 * collects a database or a statement of better-sqlite3 12 (nodejs/node#65446). The memory that this keeps is small: a
 * process opens one database, and compiles each statement once.
 *
 * The driver's `pragma` and `transaction` prepare statements that are not kept; `exec` prepares none.
 */

import Database from 'better-sqlite3';
import type { Bound, Built, Rows } from '../rows/column.ts';

/** The form of a row: an object with the names of the columns, or a list of their values, for half the CPU time. */
export type RowForm = 'object' | 'list';

/** Runs one statement. */
export type Run = <Row>(query: Built | string, values?: readonly Bound[], form?: RowForm) => Rows<Row>;

export interface Handle {
  /** Compiles each text once for each form. */
  prepare<Row>(sql: string, form?: RowForm): Database.Statement<unknown[], Row>;
  /** Runs any number of statements without parameters. Rows are dropped. */
  exec(sql: string): void;
  inTransaction(): boolean;
  close(): void;
}

/** References every handle until its thread ends. */
const opened = new Set<Handle>();

export function openHandle(path: string, options: Database.Options = {}): Handle {
  const database = new Database(path, options);
  const statements = {
    object: new Map<string, Database.Statement<unknown[], unknown>>(),
    list: new Map<string, Database.Statement<unknown[], unknown>>(),
  };
  const prepareIn = (form: RowForm, sql: string) => {
    const statement = database.prepare<unknown[], unknown>(sql);
    // The driver refuses to set it for a statement without rows.
    return form === 'list' ? statement.raw() : statement;
  };
  const handle: Handle = {
    prepare: <Row>(sql: string, form: RowForm = 'object') => {
      const prepared = statements[form];
      const statement = prepared.get(sql) ?? prepareIn(form, sql);
      prepared.set(sql, statement);
      return statement as Database.Statement<unknown[], Row>;
    },
    exec: (sql) => void database.exec(sql),
    inTransaction: () => database.inTransaction,
    close: () => void database.close(),
  };
  opened.add(handle);
  return handle;
}
