/** The clock of the Postgres server (supplement "Clocks"). */

import type { Instant } from '../../../domain/instant.ts';
import type { Run } from './pool/pool.ts';

const time = { name: 'database_time', text: 'select clock_timestamp() as now' };

export async function readDatabaseTime(run: Run): Promise<Instant> {
  const { rows } = await run<{ now: Instant }>(time);
  if (rows[0] === undefined) throw new Error('Postgres did not tell its time');
  return rows[0].now;
}
