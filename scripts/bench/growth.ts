/**
 * Measures whether an exchange costs more in a full database: CPU of the service and of Postgres with a million tasks,
 * grants, spent assertions and ledger records, compared with ten thousand of each.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/growth.ts [sqlite|postgres] [rows] [rounds]
 *
 * Exits with 1 if the median ratio is above 1.1.
 */

import { describeMachine } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { median } from './report.ts';
import { fillTables, type Tables } from './rows.ts';
import { type Testbed, withTestbed } from './testbed.ts';
import { costOf, type Workload } from './workload.ts';

const FEW = 10_000;
const REQUESTS = 3000;
const RATIO_GOAL = 1.1;
/** Prevents sealing and sweeping during the measurement. */
const SETTINGS = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };

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

async function startFilled({ start }: Testbed, engine: Engine, rows: number): Promise<Workload> {
  const started = await start(engine, SETTINGS);
  await fillTables(started, rows, ROWS);
  return started.exchange;
}

async function main(engine: Engine, rows: number, rounds: number): Promise<void> {
  await withTestbed(async (testbed) => {
    const few = await startFilled(testbed, engine, FEW);
    const many = await startFilled(testbed, engine, rows);
    console.log(describeMachine(new Date()).join('\n'));
    for (const workload of [few, many]) await costOf(workload, REQUESTS);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const manyFirst = round % 2 === 1 ? await costOf(many, REQUESTS) : undefined;
      const ofFew = await costOf(few, REQUESTS);
      const ofMany = manyFirst ?? (await costOf(many, REQUESTS));
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
