/**
 * Measures what requests cost: an exchange, the first renewal of a task, a later renewal, an introspection and the end of
 * a task. It measures CPU of the service and of Postgres, bytes of write-ahead log, and the rows and bytes that stay.
 * docs/scaling.md calculates with these figures.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/footprint.ts [requests of each kind]
 */

import pg from 'pg';
import { cpuSeconds, cpuSecondsWithChildren, describeMachine } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import { withTestbed } from './testbed.ts';
import type { Workload } from './workload.ts';

const DEFAULT_REQUESTS = 4000;
const WARM_UP_REQUESTS = 500;
/** Enough to keep the service busy, and no more than its pool has connections. */
const CONCURRENCY = 16;
/** Longer than any load, which ends when its requests are sent. */
const SECONDS = 600;
/** Prevents sealing and sweeping during the measurement. */
const SETTINGS = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };

interface Reading {
  readonly serviceCpu: number;
  readonly postgresCpu: number;
  /** Bytes of write-ahead log since the database server was initialized. */
  readonly wal: number;
  readonly tables: ReadonlyMap<string, { readonly rows: number; readonly bytes: number }>;
}

async function main(requests: number): Promise<void> {
  await withTestbed(async ({ start, cleanup }) => {
    // One task for each request of the pass `first renewal`, so that every request renews its task for the first time.
    const tasks = WARM_UP_REQUESTS + requests;
    const mandate = await start('postgres', { settings: SETTINGS, tasks });
    const superuser = new pg.Client({ connectionString: mandate.postgresUri });
    await superuser.connect();
    cleanup(() => superuser.end());
    console.log(describeMachine(new Date()).join('\n'));
    for (const [name, workload] of [
      ['exchange', mandate.exchange],
      ['first renewal', mandate.refresh],
      ['renewal', mandate.refresh],
      ['introspection', mandate.introspection],
      ['end', mandate.ending],
    ] as const) {
      await drive(workload, WARM_UP_REQUESTS);
      const before = await read(superuser, workload);
      await drive(workload, requests);
      report(name, requests, before, await read(superuser, workload));
    }
  });
}

async function drive({ target, expected, prepare }: Workload, count: number): Promise<void> {
  await driveClosedLoop(target, await prepare(count), { concurrency: CONCURRENCY, seconds: SECONDS, expected });
}

async function read(superuser: pg.Client, { pid, databasePid }: Workload): Promise<Reading> {
  await superuser.query('checkpoint');
  const { rows: names } = await superuser.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const tables = new Map<string, { rows: number; bytes: number }>();
  for (const { name } of names) {
    const { rows } = await superuser.query<{ rows: string; bytes: string }>(
      `select (select count(*) from ${name}) as rows, pg_total_relation_size('${name}') as bytes`,
    );
    tables.set(name, { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes) });
  }
  const { rows } = await superuser.query<{ wal: string }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal`);
  return {
    serviceCpu: cpuSeconds(pid) ?? Number.NaN,
    postgresCpu: (databasePid && cpuSecondsWithChildren(databasePid)) ?? Number.NaN,
    wal: Number(rows[0]?.wal),
    tables,
  };
}

function report(name: string, requests: number, before: Reading, after: Reading): void {
  const each = (from: number, to: number) => (to - from) / requests;
  console.log(`\n${name}, each of ${requests}:`);
  console.log(`  CPU of the service   ${(each(before.serviceCpu, after.serviceCpu) * 1000).toFixed(2)} ms`);
  console.log(`  CPU of Postgres      ${(each(before.postgresCpu, after.postgresCpu) * 1000).toFixed(2)} ms`);
  console.log(`  write-ahead log      ${Math.round(each(before.wal, after.wal))} bytes`);
  for (const [table, { rows, bytes }] of after.tables) {
    const earlier = before.tables.get(table) ?? { rows: 0, bytes: 0 };
    if (bytes === earlier.bytes) continue;
    const [moreRows, moreBytes] = [each(earlier.rows, rows).toFixed(2), Math.round(each(earlier.bytes, bytes))];
    console.log(`  ${table.padEnd(20)} ${moreRows} rows, ${moreBytes} bytes with its indexes`);
  }
}

const requests = Number(process.argv[2] ?? DEFAULT_REQUESTS);
if (!Number.isSafeInteger(requests) || requests < 1) {
  console.error('footprint.ts [requests of each kind, a whole number from 1]');
  process.exitCode = 2;
} else {
  await main(requests);
}
