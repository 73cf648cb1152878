/** Reads one row by its key. The keys that come by the end of a turn of the event loop are looked up by one statement. */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { collector } from '../collector.ts';
import type { Bound } from '../rows/column.ts';
import type { Run } from './connections.ts';
import { losesDecision } from './errors.ts';
import { lateness, type Waiting } from './late.ts';

export interface RowLookup {
  /** The statement's name. */
  readonly name: string;
  /** The columns of a key with their types, for `q` in `found`. */
  readonly keys: string;
  /** Selects the row of the key `q`. */
  readonly found: string;
}

/** Keys in one statement. */
const SET_SIZE = 64;

/** While one statement is under way, the next keys are collected; a second one uses another connection. */
const SETS_UNDER_WAY = 2;

interface Wanted<Row> extends Waiting {
  readonly key: Readonly<Record<string, Bound>>;
  resolve(row: Row | undefined): void;
}

/**
 * @param waitMs the time that a key may wait while Postgres does not answer
 * @throws StorageUnavailable (the returned function)
 */
export function setReader<Row>(
  run: Run,
  { name, keys, found }: RowLookup,
  waitMs: number,
): (key: Readonly<Record<string, Bound>>) => Promise<Row | undefined> {
  // Each key is looked up by itself: `offset 0` keeps the planner from a join, which could read a table whole.
  const statement = {
    name,
    text: `select q.nth, f.* from json_to_recordset($1::json) as q (nth integer, ${keys})
      cross join lateral (${found} offset 0) f`,
  };
  const late = lateness(waitMs);

  async function read(all: readonly Wanted<Row>[]): Promise<void> {
    const set = late.refuseLate(all);
    if (set.length === 0) return;
    try {
      const { rows } = await run<Row & { nth: number }>(statement, [
        JSON.stringify(set.map(({ key }, nth) => ({ nth, ...key }))),
      ]);
      late.isAnswering = true;
      const byNumber = new Map(rows.map((row) => [row.nth, row]));
      for (const [nth, { resolve }] of set.entries()) resolve(byNumber.get(nth));
    } catch (error) {
      late.isAnswering = !losesDecision(error);
      // One key may fail the statement, and must not fail the others. A server that is busy gets no further statements.
      if (set.length === 1 || error instanceof StorageUnavailable) for (const { reject } of set) reject(error);
      else for (const wanted of set) await read([wanted]);
    }
  }

  const sets = collector<Wanted<Row>>({ size: SET_SIZE, underWay: SETS_UNDER_WAY, perform: read });
  return (key) => new Promise((resolve, reject) => sets.submit({ since: performance.now(), key, resolve, reject }));
}
