/**
 * Half the ceiling for half an hour: memory, descriptors and sessions have to stay flat.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/soak.ts [--minutes 30] [--database sqlite]
 *
 * What it holds against what: docs/operating.md ("Fault runs"). Exits with 1 where something grows, or anything is lost.
 */

import { runOptions } from './runs/options.ts';
import { report } from './runs/report.ts';
import { soaking } from './runs/soaking.ts';

const { numbers, engine, program } = runOptions({ minutes: 30, 'warm-up-minutes': 10 });
const { minutes, seed, 'warm-up-minutes': warmUpMinutes } = numbers;
const print = (line: string) => console.log(line);
const { outcome, figures } = await soaking({ engine, program, seed, minutes, warmUpMinutes, print });
report(`a soak on ${engine}, seed ${seed}`, figures, outcome);
