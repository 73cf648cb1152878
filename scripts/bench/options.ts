/** The command line of `npm run bench`. */

import { parseArgs } from 'node:util';
import type { Engine } from '../temporary-database.ts';

export interface BenchOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly databases: readonly Engine[];
  readonly write: boolean;
}

export const usage = `npm run bench -- [--seconds 3] [--rounds 5] [--only sqlite|postgres] [--write]

  --seconds  the duration of each measurement, 1 to 60
  --rounds   the number of measurements of each workload, 1 to 100
  --only     one database instead of both
  --write    write the figures into docs/performance.md`;

/** @returns the options, or a sentence about the first invalid argument */
export function readOptions(args: readonly string[]): BenchOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string', default: '3' },
        rounds: { type: 'string', default: '5' },
        only: { type: 'string' },
        write: { type: 'boolean', default: false },
      },
    });
    const { seconds, rounds, only, write } = values;
    if (!isWholeNumber(seconds, 60)) return '--seconds must be a whole number from 1 to 60.';
    if (!isWholeNumber(rounds, 100)) return '--rounds must be a whole number from 1 to 100.';
    if (only !== undefined && only !== 'sqlite' && only !== 'postgres') return '--only must be sqlite or postgres.';
    const databases: readonly Engine[] = only === undefined ? ['sqlite', 'postgres'] : [only];
    return { seconds: Number(seconds), rounds: Number(rounds), databases, write };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isWholeNumber(text: string, most: number): boolean {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= most;
}
