/**
 * Stops Postgres under mixed load and starts it again, every other time as if it had crashed:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/postgres-restarts.ts [--times 20]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { postgresFaults, restart } from './runs/postgres-faults.ts';
import { report } from './runs/report.ts';

const { numbers, program } = runOptions({ times: 20, 'respite-ms': 6000 });
const { times, seed, 'respite-ms': respiteMs } = numbers;
const { outcome, figures } = await postgresFaults({ program, seed }, { strike: restart, times, respiteMs });
report(`stopped and started Postgres ${times} times, seed ${seed}`, figures, outcome);
