/** `mandate unblock`: lifts the operator's block of a person (specification "Sponsor block"). */

import { type Command, command } from '../../adapters/cli/command.ts';
import { type Emergency, emergencyOf, emergencyOptions, PERSON } from '../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { visibleText } from '../../domain/visible.ts';
import { EMERGENCY_EXIT_CODES, runEmergency, UNCHANGED } from './emergency.ts';

export function unblockCommand(): Command {
  return command({
    examples: [
      {
        line: 'unblock ada --server https://mandate.example --reason "Laptop found"',
        meaning: 'Lift the block, after a question',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'agents may act for the person again',
      ...EMERGENCY_EXIT_CODES,
      [UNCHANGED]:
        'the person was not blocked, or stays blocked: by another source, or until a second operator asks; or the question was not answered with yes',
    },
    options: (parser) => emergencyOptions(parser.positional('person', PERSON)),
    run: ({ person, ...options }, settings) =>
      unblock({ ...emergencyOf(options), person: person as SponsorKey }, settings),
  });
}

const OUTCOMES = {
  lifted: 'The block is lifted: agents may act for the person again. Tasks that have ended stay ended.',
  refused: "The operator's block is lifted, but the person stays blocked by another source.",
  pending: 'A second, different operator must ask for the same within an hour. Until then the person stays blocked.',
  not_blocked: 'The person is not blocked. Nothing was changed.',
  not_owned: 'No operator has blocked the person, and each source lifts only its own block. Nothing was changed.',
} as const;

export function unblock(
  { person, ...emergency }: Emergency & { readonly person: SponsorKey },
  settings: readonly SettingArgument[],
): Promise<number> {
  return runEmergency(emergency, settings, {
    question: `Lift the operator's block of ${visibleText(person)}?`,
    async send(switches) {
      const outcome = await switches.unblock(person);
      return { code: outcome === 'lifted' ? exitCode.done : UNCHANGED, lines: [OUTCOMES[outcome]] };
    },
  });
}
