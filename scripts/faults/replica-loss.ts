/**
 * Three replicas on one Postgres, asked in turns; every so often one of them is killed (SIGKILL) and comes back:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/replica-loss.ts [--kills 6] [--every-seconds 120]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { replicaLoss } from './runs/replica-loss.ts';
import { report } from './runs/report.ts';

/** Enough for whoever starts containers to notice. */
const AWAY_MS = 3000;

const { numbers, program } = runOptions({ kills: 6, 'every-seconds': 120, replicas: 3, 'pause-ms': 20 });
const { kills, replicas, seed, 'every-seconds': every, 'pause-ms': pauseMs } = numbers;
const { outcome, figures } = await replicaLoss({
  ...{ program, seed, replicas, kills, pauseMs },
  everyMs: every * 1000,
  awayMs: AWAY_MS,
});
report(`killed one of ${replicas} replicas every ${every} s, ${kills} times, seed ${seed}`, figures, outcome);
