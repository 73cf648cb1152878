/** A command of the command line: what its help says, which options it has, and what it does. One file each. */

import type { ArgumentsCamelCase, Argv } from 'yargs';
import type { SettingArgument } from './setting-arguments.ts';

/** Does the work; answers the exit code. */
export type Run = (settings: readonly SettingArgument[]) => Promise<number>;

export interface CommandDescription<Options> {
  /** Its name, then its positional arguments as yargs writes them: `audit-verify [checkpoints]`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
  /** Every code that it can end with. */
  readonly exitCodes: Readonly<Record<number, string>>;
  /** Declares what it accepts beside settings. */
  readonly options: (parser: Argv) => Argv<Options>;
  run(options: ArgumentsCamelCase<Options>, settings: readonly SettingArgument[]): Promise<number>;
}

export interface Command {
  /** Adds it to a parser, which calls `chosen` when the line names this command and is in order. */
  attach(parser: Argv, chosen: (run: Run) => void): Argv;
}

export function command<Options>(description: CommandDescription<Options>): Command {
  return {
    attach: (parser, chosen) =>
      parser.command<Options>(
        description.usage,
        description.summary,
        (parser) => description.options(withHelp(parser, description)),
        (options) => chosen((settings) => description.run(options, settings)),
      ),
  };
}

function withHelp<Options>(parser: Argv, { examples, exitCodes }: CommandDescription<Options>): Argv {
  for (const { line, meaning } of examples) parser.example(`$0 ${line}`, meaning);
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return parser.epilogue(`Exit codes:\n${codes.join('\n')}`);
}
