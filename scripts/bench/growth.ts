/**
 * Measures whether an exchange costs more in a full database: CPU of the service and of Postgres with a million tasks,
 * grants, spent assertions and ledger records, compared with ten thousand of each.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/growth.ts [sqlite|postgres] [rows] [rounds]
 *
 * Exits with 1 if the median ratio is above 1.1.
 */

import Database from 'better-sqlite3';
import pg from 'pg';
import { cpuSeconds, cpuSecondsWithChildren, describeMachine } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { driveClosedLoop } from './load.ts';
import { median } from './report.ts';
import { type Started, type Testbed, withTestbed } from './testbed.ts';
import type { Workload } from './workload.ts';

const FEW = 10_000;
const CONCURRENCY = 32;
const REQUESTS = 3000;
/** Longer than any load, which ends when its requests are sent. */
const SECONDS = 600;
const RATIO_GOAL = 1.1;
/** Prevents sealing and sweeping during the measurement. */
const SETTINGS = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };

/** Columns and values of the rows. `$n` is a row's number, `$now` and `$later` instants, `$random` 64 hex digits. */
const ROWS: Readonly<Record<string, readonly [columns: string, values: string]>> = {
  tasks: [
    'task_id, agent_id, sponsor_key, sponsor, session_id, audience, scope, delegation_depth, created_at, expires_at',
    `'task_' || $n, 'agent_' || ($n % 100), 'key-' || ($n % 50000), 'sub-' || ($n % 50000), 'sid-' || $n,
      'https://jira.example/api', 'jira:read', 1, $now, $later`,
  ],
  task_grants: ['grant_hash, task_id, scope', `$random, 'task_' || $n, 'jira:read'`],
  spent_assertions: ['agent_id, jti, forget_at', `'agent_' || ($n % 100), $random, $later`],
  ledger: [
    'ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision',
    `$now, 'token.issued', 'task_' || $n, 'agent_' || ($n % 100), 'sub-' || ($n % 50000), 'https://jira.example/api',
      'jira:read', $random, 1, 'allow'`,
  ],
};

async function fill({ postgresUri, sqliteFile }: Started, rows: number): Promise<void> {
  const [numbers, words] =
    sqliteFile === undefined
      ? [
          `generate_series(1, ${rows}) as number`,
          { now: 'now()', later: `now() + interval '1 day'`, random: `encode(sha256(number::text::bytea), 'hex')` },
        ]
      : [
          `(with recursive up (number) as (values (1) union all select number + 1 from up where number < ${rows})
            select number from up)`,
          {
            now: `${Date.now() * 1000}`,
            later: `${(Date.now() + 86_400_000) * 1000}`,
            random: 'lower(hex(randomblob(32)))',
          },
        ];
  const sql = Object.entries(ROWS).map(([table, [columns, values]]) => {
    const chosen = values
      .replaceAll('$now', words.now)
      .replaceAll('$later', words.later)
      .replaceAll('$random', words.random)
      .replaceAll('$n', 'number');
    return `insert into ${table} (${columns}) select ${chosen} from ${numbers}`;
  });
  if (sqliteFile !== undefined) {
    const file = new Database(sqliteFile);
    for (const insert of sql) file.exec(insert);
    file.pragma('wal_checkpoint(truncate)');
    file.close();
    return;
  }
  const client = new pg.Client({ connectionString: postgresUri });
  await client.connect();
  for (const insert of sql) await client.query(insert);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

async function startFilled({ start }: Testbed, engine: Engine, rows: number): Promise<Workload> {
  const started = await start(engine, SETTINGS);
  await fill(started, rows);
  return started.exchange;
}

/** The CPU time of the service and its database server for one exchange, in milliseconds. */
async function costOf({ target, expected, prepare, pid, databasePid }: Workload): Promise<number> {
  const requests = prepare(REQUESTS);
  const cpu = () =>
    (cpuSeconds(pid) ?? 0) + (databasePid === undefined ? 0 : (cpuSecondsWithChildren(databasePid) ?? 0));
  const before = cpu();
  const { answered } = await driveClosedLoop(target, requests, {
    concurrency: CONCURRENCY,
    seconds: SECONDS,
    expected,
  });
  return ((cpu() - before) * 1000) / answered;
}

async function main(engine: Engine, rows: number, rounds: number): Promise<void> {
  await withTestbed(async (testbed) => {
    const few = await startFilled(testbed, engine, FEW);
    const many = await startFilled(testbed, engine, rows);
    console.log(describeMachine(new Date()).join('\n'));
    for (const workload of [few, many]) await costOf(workload);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const manyFirst = round % 2 === 1 ? await costOf(many) : undefined;
      const ofFew = await costOf(few);
      const ofMany = manyFirst ?? (await costOf(many));
      ratios.push(ofMany / ofFew);
      console.log(
        `round ${round + 1}  ${ofFew.toFixed(2)} ms, ${ofMany.toFixed(2)} ms: ${(ofMany / ofFew).toFixed(2)}`,
      );
    }
    const ratio = median(ratios);
    console.log(`${engine}: an exchange beside ${rows} rows costs ${ratio.toFixed(2)} of one beside ${FEW}`);
    if (!(ratio <= RATIO_GOAL)) process.exitCode = 1;
  });
}

const [engine = 'sqlite', rows = '1000000', rounds = '7'] = process.argv.slice(2);
if (engine !== 'sqlite' && engine !== 'postgres') {
  console.error('growth.ts [sqlite|postgres] [rows] [rounds]');
  process.exitCode = 2;
} else {
  await main(engine, Number(rows), Number(rounds));
}
