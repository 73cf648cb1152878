/** The line with which the service is started: `mandate` or `mandate serve`, and settings. */

import { type SettingArgument, splitSettingArguments } from './setting-arguments.ts';

/** The command of a line without one. */
export const DEFAULT_COMMAND = 'serve';

/** @returns the settings of such a line; `undefined` for any other line, which needs the parser of `run-cli.ts` */
export function readServeLine(argv: readonly string[]): readonly SettingArgument[] | undefined {
  const split = splitSettingArguments(argv);
  if (split.kind === 'value_missing') return undefined;
  const [command = DEFAULT_COMMAND, ...more] = split.others;
  return command === DEFAULT_COMMAND && more.length === 0 ? split.settings : undefined;
}
