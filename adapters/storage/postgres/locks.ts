/** The locks of decisions on Postgres (application/decisions/lock.ts): advisory locks, and rows of tasks and grants. */

import { LOCK_ORDER, type Lock, type LockClass } from '../../../application/decisions/lock.ts';
import { storable } from '../rows/column.ts';
import type { Run, Statement } from './pool/pool.ts';

/**
 * An advisory lock of Postgres has two keys. These are the first keys, one for each kind of lock. The second key is the
 * hash of a name. All locks end with their transaction, because behind a pooler a session's lock could be lost.
 */
export const LOCK = {
  sponsor: 1_296_105_473,
  subject: 1_296_105_510,
  session: 1_296_105_474,
  agent: 1_296_105_475,
  agent_names: 1_296_105_517,
  status_audience: 1_296_105_514,
  log_keys: 1_296_105_516,
  user: 1_296_105_501,
  user_names: 1_296_105_500,
  signal: 1_296_105_511,
  assertion: 1_296_105_512,
  token: 1_296_105_513,
  authorizing: 1_296_105_521,
  approver: 1_296_105_518,
  /**
   * Held on an index of a status list, from the read that finds it free to the end of the transaction. No other transaction
   * waits for it.
   */
  statusIndex: 1_296_105_515,
  /** Every append holds it shared, from before it takes its number until it commits. */
  ledgerFence: 1_296_105_476,
  migration: 1_296_105_477,
  partitions: 1_296_105_478,
  /** Held exclusively while a checkpoint is added. */
  sealing: 1_296_105_479,
  /** Held while rows are deleted whose `forget_at` has passed. An instance that finds it held deletes none. */
  forgetting: 1_296_105_520,
  /** `mandate audit-archive` holds it while it runs. It uses a separate transaction for that. */
  archive: 1_296_105_490,
} as const;

/** A lock, and the index in the batch of the decision that needs it. */
interface WantedLock extends Lock {
  readonly nth: number;
}

/** In the order of `LOCK_ORDER`, then by hash: Postgres locks a key's hash, which another key may share. */
const keys = `(
    select q.nth, q.class, hashtext(q.key) as hash, q.shared
      from json_to_recordset($1::json) as q (nth integer, rank integer, class integer, key text, shared boolean)
      order by q.rank, hash, q.nth offset 0
  ) k`;

const take = {
  name: 'take_locks',
  text: `select case when k.shared then pg_advisory_xact_lock_shared(k.class, k.hash)
    else pg_advisory_xact_lock(k.class, k.hash) end from ${keys}`,
};

const tryTake = {
  name: 'try_locks',
  text: `select nth from (
      select k.nth, case when k.shared then pg_try_advisory_xact_lock_shared(k.class, k.hash)
        else pg_try_advisory_xact_lock(k.class, k.hash) end as held from ${keys}
    ) tried where not held`,
};

const lockRows = (table: string, key: string, strength: 'share' | 'update') => {
  const rows = `select ${key} as key from ${table}
    where ${key} = any (array(select json_array_elements_text($1::json))) order by ${key} for ${strength}`;
  return {
    wait: { name: `lock_${table}_for_${strength}`, text: rows },
    try: { name: `try_${table}_for_${strength}`, text: `${rows} skip locked` },
  };
};

const parents = { on: 'task', mode: 'shared', ...lockRows('tasks', 'task_id', 'share') } as const;
const changed = { on: 'task', mode: 'exclusive', ...lockRows('tasks', 'task_id', 'update') } as const;
const grantsAbove = { on: 'grant', mode: 'shared', ...lockRows('task_grants', 'grant_hash', 'share') } as const;
const grants = { on: 'grant', mode: 'exclusive', ...lockRows('task_grants', 'grant_hash', 'update') } as const;

const requests = {
  on: 'authorization',
  mode: 'exclusive',
  ...lockRows('authorizations', 'request_id', 'update'),
} as const;

const ROWS = [parents, changed, requests, grantsAbove, grants];

type RowLocks = (typeof ROWS)[number];

/**
 * The statements that take the locks of one decision, in their order. They wait for those that another transaction holds.
 *
 * @param endsTasks whether the decision asks `live_tasks`. Tasks that end are then missing: `live-tasks.ts` locks their rows,
 *   together with those of the tasks delegated from them
 */
export function lockStatements(locks: readonly Lock[], endsTasks: boolean): readonly Statement[] {
  const wanted = locks.map((lock) => ({ ...lock, nth: 0 }));
  const advisory = wanted.filter(isAdvisory);
  return [
    ...(advisory.length === 0 ? [] : [{ query: take, values: [parameter(advisory)] }]),
    ...ROWS.filter((rows) => !endsTasks || rows !== changed).flatMap((locks) => {
      const rows = keysOf(wanted, locks);
      return rows.length === 0 ? [] : [{ query: locks.wait, values: [JSON.stringify(rows)] }];
    }),
  ];
}

/** Takes the locks that are free. Returns the indexes of the decisions that did not get all of theirs. */
export async function tryLocks(run: Run, wanted: readonly WantedLock[]): Promise<ReadonlySet<number>> {
  const advisory = wanted.filter(isAdvisory);
  const refused = await Promise.all([
    advisory.length === 0 ? [] : run<{ nth: number }>(tryTake, [parameter(advisory)]).then(({ rows }) => rows),
    ...ROWS.map((locks) => tryRows(run, wanted, locks)),
  ]);
  return new Set(refused.flat().map(({ nth }) => nth));
}

/** Returns the locks that were not taken. A row that does not exist counts as not taken. Its decision then runs alone. */
async function tryRows(run: Run, wanted: readonly WantedLock[], locks: RowLocks): Promise<readonly WantedLock[]> {
  const keys = keysOf(wanted, locks);
  if (keys.length === 0) return [];
  const { rows } = await run<{ key: string }>(locks.try, [JSON.stringify(keys)]);
  const held = new Set(rows.map(({ key }) => key));
  return wanted.filter((lock) => isOf(locks, lock) && !held.has(lock.key));
}

type RowLock = RowLocks['on'];
type AdvisoryLock = WantedLock & { readonly on: Exclude<LockClass, RowLock> };

function isAdvisory(lock: WantedLock): lock is AdvisoryLock {
  return !ROWS.some(({ on }) => on === lock.on);
}

function isOf({ on, mode }: RowLocks, lock: WantedLock): boolean {
  return lock.on === on && lock.mode === mode;
}

function keysOf(wanted: readonly WantedLock[], locks: RowLocks): readonly string[] {
  return wanted.flatMap((lock) => (isOf(locks, lock) ? [lock.key] : []));
}

function parameter(locks: readonly AdvisoryLock[]): string {
  return JSON.stringify(
    locks.map(({ nth, on, key, mode }) => ({
      nth,
      rank: LOCK_ORDER.indexOf(on),
      class: LOCK[on],
      key: storable(on, key),
      shared: mode === 'shared',
    })),
  );
}
