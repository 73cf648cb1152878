/** The command line of `npm run bench`. */

import { parseArgs } from 'node:util';
import type { Engine } from '../temporary-database.ts';

export interface BenchOptions {
  readonly runs: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly databases: readonly Engine[];
  /** Whether to measure the studies too: many rows, a million records, two replicas. */
  readonly studies: boolean;
  /** A file that keeps the runs, so that later ones are reported together with them. */
  readonly file: string | undefined;
  readonly write: boolean;
}

export const usage = `npm run bench -- [--runs 1] [--rounds 3] [--seconds 1] [--only sqlite|postgres] [--studies] [--file path] [--write]

  --runs     how many runs, 0 to 20. Each starts all servers anew
  --rounds   the number of measurements of each workload in a run, 1 to 100
  --seconds  the duration of each measurement, 1 to 60
  --only     one database instead of both
  --studies  measure also a million rows, a million records and two replicas, once
  --file     keep the figures in this file, and report all that it has
  --write    write the figures into docs/performance.md`;

/** @returns the options, or a sentence about the first invalid argument */
export function readOptions(args: readonly string[]): BenchOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        runs: { type: 'string', default: '1' },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '1' },
        only: { type: 'string' },
        studies: { type: 'boolean', default: false },
        file: { type: 'string' },
        write: { type: 'boolean', default: false },
      },
    });
    const { runs, rounds, seconds, only, studies, file, write } = values;
    if (runs !== '0' && !isWholeNumber(runs, 20)) return '--runs must be a whole number from 0 to 20.';
    if (!isWholeNumber(rounds, 100)) return '--rounds must be a whole number from 1 to 100.';
    if (!isWholeNumber(seconds, 60)) return '--seconds must be a whole number from 1 to 60.';
    if (only !== undefined && only !== 'sqlite' && only !== 'postgres') return '--only must be sqlite or postgres.';
    const databases: readonly Engine[] = only === undefined ? ['sqlite', 'postgres'] : [only];
    return { runs: Number(runs), rounds: Number(rounds), seconds: Number(seconds), databases, studies, file, write };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isWholeNumber(text: string, most: number): boolean {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= most;
}
