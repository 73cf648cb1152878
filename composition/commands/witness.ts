/** `mandate witness`: the other side of a transparency log, for an auditor (C2SP tlog-witness v1.0.0). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import { acceptClockCommand, type witnessAcceptClock } from './witness/accept-clock.ts';
import { initCommand, type witnessInit } from './witness/init.ts';
import { serveCommand, type witnessServe } from './witness/serve.ts';

interface WitnessActions {
  readonly init?: typeof witnessInit;
  readonly serve?: typeof witnessServe;
  readonly acceptClock?: typeof witnessAcceptClock;
}

/** @param actions replace those of the commands, in a test */
export function witnessCommand(actions: WitnessActions = {}): Command {
  return commandGroup('witness', 'Watch the logs of others, and cosign their checkpoints', [
    initCommand(actions.init),
    serveCommand(actions.serve),
    acceptClockCommand(actions.acceptClock),
  ]);
}
