/** Groups commands under one word, as in `keys show`. */

import type { Command } from './command.ts';

/** @param name one word; the usage of each command begins after it */
export function commandGroup(name: string, summary: string, commands: readonly Command[]): Command {
  return {
    attach: (parser, chosen) =>
      parser.command(name, summary, (group) =>
        commands
          .reduce((all, each) => each.attach(all, chosen), group)
          .demandCommand(1, 1, `${name} needs the name of a command.`)
          .strictCommands(),
      ),
  };
}
