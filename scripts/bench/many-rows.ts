/**
 * Whether an exchange costs more in a full database: the CPU of the service and of Postgres beside a million tasks, grants,
 * spent assertions and ledger records, of that beside ten thousand of each.
 */

import Database from 'better-sqlite3';
import pg from 'pg';
import { pinToSeparateCores, unpin } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { type Started, type Testbed, withTestbed } from './testbed.ts';
import { costOf } from './workload.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const ROUNDS = 5;
const REQUESTS = 2000;
const WARM_UP_REQUESTS = 4000;
/** Prevents sealing and sweeping during the measurement. */
const SETTINGS = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };

/** The columns and values of each table's rows. */
type Tables = Readonly<Record<string, readonly [columns: string, values: string]>>;

const ROWS: Tables = {
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

/** @returns the ratio of each round */
export async function measureManyRows(engine: Engine): Promise<readonly number[]> {
  const ratios: number[] = [];
  await withTestbed(async (testbed) => {
    const [few, many] = [await startFilled(testbed, engine, FEW), await startFilled(testbed, engine, MANY)];
    const workloads = [few.exchange, many.exchange];
    const pinned = {
      services: workloads.map(({ pid }) => pid),
      others: [process.pid, ...workloads.flatMap(({ databasePid }) => databasePid ?? [])],
    };
    pinToSeparateCores(pinned);
    for (const workload of workloads) await costOf(workload, WARM_UP_REQUESTS);
    for (let round = 0; round < ROUNDS; round += 1) {
      const manyFirst = round % 2 === 1 ? await costOf(many.exchange, REQUESTS) : undefined;
      const ofFew = await costOf(few.exchange, REQUESTS);
      const ofMany = manyFirst ?? (await costOf(many.exchange, REQUESTS));
      ratios.push(ofMany / ofFew);
      console.log(
        `round ${round + 1}  an exchange beside ${FEW} and ${MANY} rows on ${engine}: ` +
          `${ofFew.toFixed(3)} and ${ofMany.toFixed(3)} ms CPU, with that of Postgres`,
      );
    }
    unpin(pinned);
  });
  return ratios;
}

async function startFilled({ start }: Testbed, engine: Engine, rows: number): Promise<Started> {
  const started = await start(engine, { settings: SETTINGS });
  await fillTables(started, rows);
  return started;
}

/**
 * Inserts rows, as if the service had run for a long time. In the values `$n` is a row's number from 1, `$now` and `$later`
 * are instants, and `$random` 64 hex digits.
 */
async function fillTables({ postgresUri, sqliteFile }: Started, rows: number): Promise<void> {
  const [numbers, words] =
    sqliteFile === undefined
      ? [
          `generate_series(1, ${rows}::bigint) as number`,
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
    for (const statement of sql) file.exec(statement);
    file.pragma('wal_checkpoint(truncate)');
    file.close();
    return;
  }
  const client = new pg.Client({ connectionString: postgresUri });
  await client.connect();
  for (const statement of sql) await client.query(statement);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}
