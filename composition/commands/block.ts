/** `mandate block`: no agent may act for a person (specification "Sponsor block"). */

import { type Command, command, counted } from '../../adapters/cli/command.ts';
import { type Emergency, emergencyOf, emergencyOptions, PERSON } from '../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { visibleText } from '../../domain/visible.ts';
import { CHECK_SPELLING, EMERGENCY_EXIT_CODES, lastTokens, runEmergency, UNCHANGED } from './emergency.ts';

export function blockCommand(): Command {
  return command({
    examples: [
      {
        line: 'block ada --server https://mandate.example --reason "Stolen laptop"',
        meaning: 'Block a person, after a question',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the person is blocked',
      ...EMERGENCY_EXIT_CODES,
      [UNCHANGED]: 'nothing was changed: the question was not answered with yes',
    },
    options: (parser) => emergencyOptions(parser.positional('person', PERSON)),
    run: ({ person, ...options }, settings) =>
      block({ ...emergencyOf(options), person: person as SponsorKey }, settings),
  });
}

export function block(
  { person, ...emergency }: Emergency & { readonly person: SponsorKey },
  settings: readonly SettingArgument[],
): Promise<number> {
  return runEmergency(emergency, settings, {
    question: `Block ${visibleText(person)}, and end all their tasks?`,
    ends: { kind: 'person', sponsorKey: person },
    async send(switches) {
      const { tasks } = await switches.block(person);
      return {
        code: exitCode.done,
        lines: [
          `${visibleText(person)} is blocked, ${counted(tasks, 'task')} ended. No agent can act for them until "mandate unblock".`,
          ...(tasks === 0 ? [`No task was live. ${CHECK_SPELLING}`] : []),
          lastTokens(switches, { kind: 'person', sponsorKey: person }, tasks),
        ],
      };
    },
  });
}
