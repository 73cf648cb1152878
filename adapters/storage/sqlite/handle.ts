/**
 * A better-sqlite3 database whose objects are never garbage collected. Node from 24.19 on aborts the process when it
 * collects a database or statement of better-sqlite3 12 (nodejs/node#65446). This keeps little memory: a process opens one
 * database, and compiles each statement once.
 *
 * The driver's own `pragma` and `transaction` are not used: they prepare statements that nothing would keep.
 */

import Database from 'better-sqlite3';
import type { Bound, Rows } from '../rows/column.ts';

/** The form of a row: an object by column names, or a list of values, which takes half the CPU time. */
export type RowForm = 'object' | 'list';

/** Runs one statement. */
export type Run = <Row>(query: string, values?: readonly Bound[], form?: RowForm) => Rows<Row>;

export interface Handle {
  /** Compiles a statement once for each form, and keeps it. */
  prepare<Row>(sql: string, form?: RowForm): Database.Statement<unknown[], Row>;
  /** Runs any number of statements without parameters, and discards their rows. */
  exec(sql: string): void;
  inTransaction(): boolean;
  close(): void;
}

/** Keeps every handle reachable until its thread ends. */
const opened = new Set<Handle>();

export function openHandle(path: string, options: Database.Options = {}): Handle {
  const database = new Database(path, options);
  const statements = {
    object: new Map<string, Database.Statement<unknown[], unknown>>(),
    list: new Map<string, Database.Statement<unknown[], unknown>>(),
  };
  const prepareIn = (form: RowForm, sql: string) => {
    const statement = database.prepare<unknown[], unknown>(sql);
    // `raw` throws for a statement that returns no rows.
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
