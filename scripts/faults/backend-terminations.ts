/**
 * Ends every session of the service in Postgres, ten times a second, under mixed load:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/backend-terminations.ts [--seconds 60]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { postgresFaults, terminateBackends } from './runs/postgres-faults.ts';
import { report } from './runs/report.ts';

const { numbers, program } = runOptions({ seconds: 60, 'every-ms': 100, 'respite-ms': 8000 });
const { seconds, seed, 'every-ms': everyMs, 'respite-ms': respiteMs } = numbers;
let ended = 0;
const { outcome, figures } = await postgresFaults(
  { program, seed },
  {
    strike: async (database) => {
      ended += await terminateBackends(database, everyMs, seconds * 1000);
    },
    times: 1,
    respiteMs,
  },
);
const done = `ended all sessions every ${everyMs} ms for ${seconds} s, ${ended} of them in all, seed ${seed}`;
report(done, figures, outcome);
