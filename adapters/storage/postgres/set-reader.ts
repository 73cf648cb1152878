/** Reads one row by its key. Keys that are requested in one turn of the event loop share a statement. */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { collector } from '../collector.ts';
import type { Values } from '../dialect.ts';
import { losesDecision } from './errors.ts';
import { lateness, type Waiting } from './late.ts';
import type { Run } from './pool/pool.ts';

interface RowLookup {
  readonly name: string;
  /** The columns of a key with their types, as one row `q` per key. */
  readonly keys: string;
  /** A query for the row of the key `q`. */
  readonly found: string;
}

/** The maximum number of keys in one statement. */
const SET_SIZE = 64;

/** Statements under way, each on its own connection. While all are busy, further keys are collected. */
const SETS_UNDER_WAY = 2;

interface Wanted<Row> extends Waiting {
  readonly key: Values;
  resolve(row: Row | undefined): void;
}

/**
 * @param waitMs how long a key may wait while Postgres does not answer
 * @returns a function that reads one row, and throws StorageUnavailable
 */
export function setReader<Row>(
  run: Run,
  { name, keys, found }: RowLookup,
  waitMs: number,
): (key: Values) => Promise<Row | undefined> {
  // `offset 0` makes the planner look up each key separately. It prevents a join, which could scan a whole table.
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
      // If one key made the statement fail, each key is read alone, so that the others succeed. A server that is
      // unavailable is not asked again.
      if (set.length === 1 || error instanceof StorageUnavailable) for (const { reject } of set) reject(error);
      else for (const wanted of set) await read([wanted]);
    }
  }

  const sets = collector<Wanted<Row>>({ size: SET_SIZE, underWay: SETS_UNDER_WAY, perform: read });
  return (key) => new Promise((resolve, reject) => sets.submit({ since: performance.now(), key, resolve, reject }));
}
