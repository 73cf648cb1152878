/**
 * What one exchange, the first renewal of a task, one more, one introspection and the end of a task cost a Postgres and
 * the process that serves it: CPU, bytes of write-ahead log, rows and bytes that stay. The arithmetic of
 * docs/scaling.md begins with these figures.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/footprint.ts [requests of each kind]
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Contender } from './contender.ts';
import { driveLoad } from './load.ts';
import { describePlace } from './place.ts';
import { processCpuSeconds } from './process-cpu.ts';
import { onStage } from './stage.ts';

const DEFAULT_REQUESTS = 4000;
const WARM_UP_REQUESTS = 500;
/** Enough to be always busy, and few enough that nobody waits for a connection of the pool. */
const CONCURRENCY = 16;
/** No limit: a round ends when its requests are used up. */
const SECONDS = 600;

interface Reading {
  readonly serviceCpu: number;
  readonly postgresCpu: number;
  readonly wal: number;
  readonly tables: ReadonlyMap<string, { readonly rows: number; readonly bytes: number }>;
}

/** Nothing but the requests is to be measured. */
const NOTHING_ELSE = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };

async function main(requests: number): Promise<void> {
  await onStage(async (stage) => {
    // Renewals go round them: the first time each is a task's first.
    const tasks = WARM_UP_REQUESTS + requests;
    const mandate = await stage.start('postgres', NOTHING_ELSE, tasks);
    const owner = new pg.Client({ connectionString: mandate.ownerUri });
    await owner.connect();
    stage.afterwards(() => owner.end());
    console.log(describePlace(new Date()).join('\n'));
    const postmaster = await postmasterPid(owner);
    for (const [name, contender] of [
      ['exchange', mandate.exchange],
      ['first renewal', mandate.refresh],
      ['renewal', mandate.refresh],
      ['introspection', mandate.introspection],
      ['end', mandate.ending],
    ] as const) {
      await drive(contender, WARM_UP_REQUESTS);
      const before = await read(owner, contender.pid, postmaster);
      await drive(contender, requests);
      report(name, requests, before, await read(owner, contender.pid, postmaster));
    }
  });
}

async function drive({ target, expected, prepare }: Contender, count: number): Promise<void> {
  await driveLoad(target, await prepare(count), { concurrency: CONCURRENCY, seconds: SECONDS, expected });
}

async function read(owner: pg.Client, pid: number, postmaster: number): Promise<Reading> {
  // As after autovacuum: what an update leaves behind is used again, and indexes have their pages.
  await owner.query('checkpoint');
  const { rows: names } = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const tables = new Map<string, { rows: number; bytes: number }>();
  for (const { name } of names) {
    const { rows } = await owner.query<{ rows: string; bytes: string }>(
      `select (select count(*) from ${name}) as rows, pg_total_relation_size('${name}') as bytes`,
    );
    tables.set(name, { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes) });
  }
  const { rows } = await owner.query<{ wal: string }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal`);
  return {
    serviceCpu: processCpuSeconds(pid) ?? Number.NaN,
    postgresCpu: treeCpuSeconds(postmaster),
    wal: Number(rows[0]?.wal),
    tables,
  };
}

async function postmasterPid(owner: pg.Client): Promise<number> {
  const { rows } = await owner.query<{ data_directory: string }>('show data_directory');
  return Number(readFileSync(join(rows[0]?.data_directory ?? '', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Every connection is a process of its own, and those of the pool stay. */
function treeCpuSeconds(parent: number): number {
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    const stat = statOf(name);
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
  });
  return [parent, ...children].reduce<number>((sum, pid) => sum + (processCpuSeconds(Number(pid)) ?? 0), 0);
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return ') ';
  }
}

function report(name: string, requests: number, before: Reading, after: Reading): void {
  const each = (from: number, to: number) => (to - from) / requests;
  console.log(`\n${name}, each of ${requests}:`);
  console.log(`  CPU of the service   ${(each(before.serviceCpu, after.serviceCpu) * 1000).toFixed(2)} ms`);
  console.log(`  CPU of Postgres      ${(each(before.postgresCpu, after.postgresCpu) * 1000).toFixed(2)} ms`);
  console.log(`  write-ahead log      ${Math.round(each(before.wal, after.wal))} bytes`);
  for (const [table, { rows, bytes }] of after.tables) {
    const was = before.tables.get(table) ?? { rows: 0, bytes: 0 };
    if (bytes === was.bytes) continue;
    const [moreRows, moreBytes] = [each(was.rows, rows).toFixed(2), Math.round(each(was.bytes, bytes))];
    console.log(`  ${table.padEnd(20)} ${moreRows} rows, ${moreBytes} bytes with its indexes`);
  }
}

const requests = Number(process.argv[2] ?? DEFAULT_REQUESTS);
if (!Number.isSafeInteger(requests) || requests < 1) {
  console.error('How many requests of each kind? A whole number.');
  process.exitCode = 2;
} else {
  await main(requests);
}
