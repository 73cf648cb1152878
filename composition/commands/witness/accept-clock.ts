/** `mandate witness accept-clock`: lowers the times that a clock that was ahead has left. */

import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { writeOutput } from '../../../adapters/cli/standard-output.ts';
import { systemClock } from '../../../adapters/platform/system-clock.ts';
import { instantFromSeconds, toSeconds, toShortText } from '../../../domain/instant.ts';
import { visibleText } from '../../../domain/visible.ts';
import { runReport } from '../run-command.ts';
import { fileOption, openState } from './files.ts';

interface WitnessAcceptClockRequest {
  readonly state: string;
}

export function acceptClockCommand(run = witnessAcceptClock): Command {
  return command({
    examples: [
      {
        line: 'witness accept-clock --state witness.db',
        meaning: 'Lower the times of last cosignatures that are ahead; their sizes and roots stay',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the report says which times were lowered',
      [exitCode.failed]: 'the state file is not there, or could not be changed',
    },
    options: (parser) => parser.option('state', fileOption('--state', 'The state file that `witness init` made')),
    run: ({ state }) => run({ state: state ?? '' }),
  });
}

/** Lowers the times that a clock that was ahead has left in the state file. */
export function witnessAcceptClock({ state }: WitnessAcceptClockRequest): Promise<number> {
  return runReport(async () => {
    const file = await openState(state);
    try {
      const now = toSeconds(systemClock().now());
      const lowered = await file.acceptTime(now);
      const lines = lowered.map(
        ({ origin, seconds }) => `${origin}: the last time was ${dateOf(seconds)}, and is now ${dateOf(now)}.`,
      );
      const none = `No cosignature is dated after ${dateOf(now)}, the time of this machine.`;
      await writeOutput(`${visibleText((lines.length === 0 ? [none] : lines).join('\n'))}\n`);
    } finally {
      await file.close();
    }
    return exitCode.done;
  });
}

function dateOf(seconds: number): string {
  return toShortText(instantFromSeconds(seconds));
}
