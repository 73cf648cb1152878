/** Reads the ledger on Postgres. docs/decisions/0001-ledger-paging.md says why no page misses a record. */

import { setTimeout as pause } from 'node:timers/promises';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Ledger, LedgerPosition } from '../../../application/ports/ledger.ts';
import { type Instant, secondsBetween } from '../../../domain/instant.ts';
import { countDenials, endOfPage, numberBefore, pageQuery, toPage } from '../queries/ledger.ts';
import { postgresAsk } from './ask.ts';
import { SERVING_LIMITS } from './limits.ts';
import { LOCK } from './locks.ts';
import type { Connections, Run } from './pool/pool.ts';

export function postgresLedger(connections: Pick<Connections, 'run' | 'readTogether'>): Ledger {
  const { run } = connections;
  const ask = postgresAsk(connections);
  return {
    async page(query) {
      let rows = await ask(pageQuery(query), query);
      const end = endOfPage(rows, query.limit);
      if (end !== undefined && query.newestFirst !== true && !(await isSettled(run, end, query.now))) {
        await passFence(run);
        rows = await ask(pageQuery(query), query);
      }
      return toPage(rows, query.limit);
    },
    async settledThrough() {
      const { rows } = await run<{ seq: number | null }>(newest);
      await untilAppendsEnd(run);
      return rows[0]?.seq ?? 0;
    },
    denials: (question) => ask(countDenials, question),
    numberBefore: (records) => ask(numberBefore, records),
  };
}

/**
 * A page that ends this long ago needs no fence: usual appends have ended by then, because their statements have limits of
 * seconds (`limits.ts`). `pg_locks` shows longer appends, which end very many tasks or hang in their commit.
 */
const SETTLED_AFTER_SECONDS = 60;

/** An append that has run longer is unusual. If the role may not see its start, it counts as longer. */
const LONG_APPEND_SECONDS = SERVING_LIMITS.query / 1000;

/** Selects those that hold the fence or wait for it, as `l`. */
const AT_FENCE = `l.locktype = 'advisory' and l.classid = ${LOCK.ledgerFence} and l.objsubid = 2
        and l.database = (select oid from pg_database where datname = current_database())`;

const longAppends = {
  name: 'long_appends',
  text: `select exists (
    select from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where ${AT_FENCE}
        and (a.xact_start is null or a.xact_start < clock_timestamp() - interval '${LONG_APPEND_SECONDS} seconds')
  ) as under_way`,
};

async function isSettled(run: Run, end: LedgerPosition, now: Instant): Promise<boolean> {
  if (secondsBetween(end.at, now) <= SETTLED_AFTER_SECONDS) return false;
  const { rows } = await run<{ under_way: boolean }>(longAppends);
  return rows[0]?.under_way === false;
}

const fence = { name: 'pass_fence', text: `select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)` };

/** Waits until all running appends have ended. Later appends are dated after the records that were read. */
async function passFence(run: Run): Promise<void> {
  await run(fence);
}

const newest = { name: 'newest_record', text: 'select max(seq) as seq from ledger' };

/** An append holds the fence before it takes its numbers, until they are committed or rolled back. */
const appending = {
  name: 'appending',
  text: `select l.virtualtransaction as transaction from pg_locks l where ${AT_FENCE} and l.granted`,
};

const APPENDS_POLL_MS = 20;
/** Usual appends end within it. Those that end very many tasks take longer, and are waited for again. */
const APPENDS_LIMIT_MS = 5_000;

/**
 * Waits until the appends that are under way now have ended. It takes no lock: this runs every second, and appends would
 * queue behind a lock that waits for the slowest of them.
 *
 * @throws StorageUnavailable
 */
async function untilAppendsEnd(run: Run): Promise<void> {
  const find = async () => (await run<{ transaction: string }>(appending)).rows.map(({ transaction }) => transaction);
  const limit = performance.now() + APPENDS_LIMIT_MS;
  for (let awaited = await find(); awaited.length > 0; ) {
    if (performance.now() > limit) throw new StorageUnavailable('appends to the ledger take too long');
    await pause(APPENDS_POLL_MS);
    const still = await find();
    awaited = awaited.filter((transaction) => still.includes(transaction));
  }
}
