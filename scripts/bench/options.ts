/** The command line of `npm run bench`. */

import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly databases: readonly ('sqlite' | 'postgres')[];
  readonly write: boolean;
}

export const usage = `npm run bench -- [--seconds 3] [--rounds 5] [--only sqlite|postgres] [--write]

  --seconds  how long each measurement lasts, 1 to 60
  --rounds   how many measurements of each kind, 1 to 100
  --only     one database instead of both
  --write    put the figures into docs/performance.md`;

/** Answers the sentence that says what is wrong when the arguments cannot be read. */
export function readOptions(args: readonly string[]): BenchOptions | string {
  const parsed = parse(args);
  if (typeof parsed === 'string') {
    return parsed;
  }
  const { seconds, rounds, only, write } = parsed;
  if (!isWholeNumber(seconds, 60)) {
    return '--seconds must be a whole number from 1 to 60.';
  }
  if (!isWholeNumber(rounds, 100)) {
    return '--rounds must be a whole number from 1 to 100.';
  }
  if (only !== undefined && only !== 'sqlite' && only !== 'postgres') {
    return '--only must be sqlite or postgres.';
  }
  return {
    seconds: Number(seconds),
    rounds: Number(rounds),
    databases: only === undefined ? ['sqlite', 'postgres'] : [only],
    write,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string', default: '3' },
        rounds: { type: 'string', default: '5' },
        only: { type: 'string' },
        write: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isWholeNumber(text: string, most: number): boolean {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= most;
}
