/**
 * Freezes every process of Postgres (SIGSTOP) under mixed load: no connection is told, nothing is answered.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/postgres-freeze.ts [--seconds 15] [--times 2]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { freeze, postgresFaults } from './runs/postgres-faults.ts';
import { report } from './runs/report.ts';

const { numbers, program } = runOptions({ seconds: 15, times: 2, 'respite-ms': 10_000 });
const { seconds, times, seed, 'respite-ms': respiteMs } = numbers;
const { outcome, figures } = await postgresFaults(
  { program, seed },
  { strike: (database) => freeze(database, seconds * 1000), times, respiteMs },
);
report(`froze Postgres ${times} times for ${seconds} s, seed ${seed}`, figures, outcome);
