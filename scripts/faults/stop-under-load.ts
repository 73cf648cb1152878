/**
 * Tells the service to stop (SIGTERM) at a steady rate of requests, half of them over new connections:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/stop-under-load.ts [--times 10]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { report } from './runs/report.ts';
import { stoppingUnderLoad } from './runs/stopping.ts';

const { numbers, engine, program } = runOptions({ times: 10, rate: 200, 'serves-ms': 6000 });
const { times, rate, seed, 'serves-ms': servesMs } = numbers;
const { outcome, figures, unsent } = await stoppingUnderLoad({
  ...{ engine, program, seed, times, servesMs },
  perSecond: rate,
});
report(`stopped one process on ${engine} ${times} times at ${rate} requests a second, seed ${seed}`, figures, {
  ...outcome,
  losses: [...outcome.losses, ...unsent],
});
