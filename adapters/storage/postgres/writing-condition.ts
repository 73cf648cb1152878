/** Examines whether Postgres can write: standbys, locks, and a row that is written and rolled back. */

import { setTimeout as pause } from 'node:timers/promises';
import { type DatabaseFault, StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { LockHolder, WritingCondition } from '../../../application/ports/storage.ts';
import { pageDamage } from './damaged-pages.ts';
import type { Connections, Run } from './pool/pool.ts';
import { awaitingStandby, lockHolders } from './waits.ts';

const standing = {
  name: 'condition_standing',
  text: `select pg_is_in_recovery() as is_standby, current_setting('synchronous_standby_names') as names,
      (select count(*)::integer from pg_stat_replication) as connected`,
};

interface StandingRow {
  readonly is_standby: boolean;
  readonly names: string;
  /** Every role may count the connections of standbys, but only some see the names. */
  readonly connected: number;
}

/** How many standbys a commit waits for: `ANY 2 (a, b, c)`, `FIRST 2 (a, b, c)`, `2 (a, b, c)`, or `a, b` for one. */
function neededStandbys(names: string): number {
  if (names.trim() === '') return 0;
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

/** No agent has this id. The name of each row differs, so that commands which run at once do not wait for each other. */
const writeProbe = {
  name: 'condition_write',
  text: "insert into spent_assertions (agent_id, jti, forget_at) values ('mandate doctor', gen_random_uuid()::text, now())",
};

/** An ordinary lock, such as that of a new partition, is gone by then. */
const LASTING_LOCK_MS = 1000;

export async function writingCondition(connections: Connections): Promise<WritingCondition> {
  const { run } = connections;
  const [row] = (await run<StandingRow>(standing)).rows;
  if (row === undefined) throw new Error('Postgres did not say whether it is a standby');
  return {
    isStandby: row.is_standby,
    standbys: { needed: neededStandbys(row.names), connected: row.connected },
    awaitingStandby: await awaitingStandby(run),
    lockHolders: await lastingLocks(run),
    fault: await probeFault(connections),
    damage: await pageDamage(run),
  };
}

async function lastingLocks(run: Run): Promise<readonly LockHolder[]> {
  const before = await lockHolders(run);
  if (before.length === 0) return [];
  await pause(LASTING_LOCK_MS);
  return (await lockHolders(run)).filter(({ pid }) => before.some((one) => one.pid === pid));
}

/** Why a row cannot be written. A transaction that writes also needs a transaction number, and space in the WAL. */
async function probeFault({ transact }: Connections): Promise<DatabaseFault | undefined> {
  const written = new Error('The row is rolled back.');
  const thrown: unknown = await transact(async (run) => {
    await run(writeProbe);
    throw written;
  }).catch((error: unknown) => error);
  if (thrown === written) return undefined;
  if (thrown instanceof StorageUnavailable && thrown.fault !== undefined) return thrown.fault;
  throw thrown;
}
