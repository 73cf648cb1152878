/** Recognizes the command line that starts the service: `mandate` or `mandate serve`, and settings. */

import { type SettingArgument, splitSettingArguments } from './setting-arguments.ts';

/** The command of a line that names none. */
export const DEFAULT_COMMAND = 'serve';

/** @returns the settings of such a line. `undefined` for any other line, which needs the parser of `run-cli.ts` */
export function readServeLine(argv: readonly string[]): readonly SettingArgument[] | undefined {
  const split = splitSettingArguments(argv);
  if (split.kind === 'value_missing') return undefined;
  const [command = DEFAULT_COMMAND, ...more] = split.others;
  return command === DEFAULT_COMMAND && more.length === 0 ? split.settings : undefined;
}
