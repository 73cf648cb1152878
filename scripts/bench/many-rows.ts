/**
 * Whether an exchange costs more in a full database: the CPU of the service and of Postgres beside a million tasks, grants,
 * spent assertions and ledger records, of that beside ten thousand of each.
 */

import { pinToSeparateCores, unpin } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { fillTables, type Tables } from './rows.ts';
import { type Started, type Testbed, withTestbed } from './testbed.ts';
import { costOf } from './workload.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const ROUNDS = 5;
const REQUESTS = 2000;
const WARM_UP_REQUESTS = 4000;
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
  await fillTables(started, rows, ROWS);
  return started;
}
