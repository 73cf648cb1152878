/**
 * Kills the service at random moments under mixed load, and starts it again:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/kill-9.ts [--database sqlite] [--kills 200]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { killing } from './runs/killing.ts';
import { runOptions } from './runs/options.ts';
import { report } from './runs/report.ts';

const { numbers, engine, program } = runOptions({ kills: 200, 'serves-ms': 1500 });
const { kills, seed, 'serves-ms': servesMs } = numbers;
const outcome = await killing({ engine, program, seed, kills, servesMs });
report(`killed ${kills} times with SIGKILL on ${engine}, seed ${seed}`, [], outcome);
