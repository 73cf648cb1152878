/** The command line of a run: whole numbers, the database, and which build of the service. */

import { parseArgs } from 'node:util';
import { builtProgram } from '../../mandate-process.ts';
import type { Engine } from '../stage/database.ts';

export interface RunOptions<Name extends string> {
  readonly numbers: Readonly<Record<Name | 'seed', number>>;
  readonly engine: Engine;
  readonly program: readonly string[];
}

/**
 * Ends the process, with 2, where they can't be read.
 *
 * @param defaults the numbers that it takes, and what they are where they are not given
 */
export function runOptions<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  engine: Engine = 'postgres',
): RunOptions<Name> {
  const known: Readonly<Record<string, number>> = { seed: 1, ...defaults };
  const string = { type: 'string' } as const;
  try {
    const names = [...Object.keys(known), 'database', 'program'];
    const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, string])) });
    const numbers = Object.fromEntries(
      Object.entries(known).map(([name, value]) => [name, wholeNumber(name, values[name], value)]),
    );
    const database = values.database ?? engine;
    if (database !== 'sqlite' && database !== 'postgres') throw new Error('--database is sqlite or postgres');
    const program = values.program === undefined ? builtProgram : [String(values.program)];
    return { numbers: numbers as RunOptions<Name>['numbers'], engine: database, program };
  } catch (error) {
    const usage = Object.entries(known).map(([name, value]) => `[--${name} ${value}]`);
    console.error(error instanceof Error ? error.message : error);
    console.error(`${usage.join(' ')} [--database ${engine}] [--program dist/composition/main.js]`);
    process.exit(2);
  }
}

function wholeNumber(name: string, text: unknown, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) throw new Error(`--${name} is a whole number`);
  return Number(text);
}
