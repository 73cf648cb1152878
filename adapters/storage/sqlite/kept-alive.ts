/**
 * Connections and statements of better-sqlite3 that are never garbage. Node from 24.19 on aborts the whole process when
 * it collects what an addon of `node::ObjectWrap`'s kind has handed out (nodejs/node#65446), and the releases of
 * better-sqlite3 that run on Node 20 are of that kind. What is kept is little: a process has one connection, and compiles
 * each statement once.
 */

import type Database from 'better-sqlite3';

/** With its module it lasts as long as its thread. */
const kept = new Set<unknown>();

/** @returns the same, of which nothing is collected from now on before its thread ends */
export function keepAlive(connection: Database.Database): Database.Database {
  kept.add(connection);
  const prepare = connection.prepare.bind(connection);
  connection.prepare = ((source: string) => {
    const statement = prepare(source);
    kept.add(statement);
    return statement;
  }) as typeof connection.prepare;
  // The driver's own makes its statement past `prepare`.
  connection.pragma = (source, { simple = false } = {}) => {
    const statement = connection.prepare(`pragma ${source}`);
    if (statement.reader) return simple ? statement.pluck().get() : statement.all();
    statement.run();
    return simple ? undefined : [];
  };
  return connection;
}
