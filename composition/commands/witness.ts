/** `mandate witness`: the other side of a transparency log, for an auditor (C2SP tlog-witness v1.0.0). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import type { witnessAcceptClock } from './witness/accept-clock.ts';
import type { witnessInit } from './witness/init.ts';
import type { witnessServe } from './witness/serve.ts';

interface WitnessActions {
  readonly init?: typeof witnessInit;
  readonly serve?: typeof witnessServe;
  readonly acceptClock?: typeof witnessAcceptClock;
}

/** @param actions replace those of the commands, in a test */
export function witnessCommand(actions: WitnessActions = {}): Command {
  return commandGroup('witness', [
    {
      usage: 'init',
      summary: 'Make a witness: its key, its memory, and the verifier key that it prints',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/init.ts')).initCommand(actions.init),
    },
    {
      usage: 'serve',
      summary: 'Run a witness until a signal stops it',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/serve.ts')).serveCommand(actions.serve),
    },
    {
      usage: 'accept-clock',
      summary: 'After the clock was ahead: date the next cosignatures by the clock of this machine',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/accept-clock.ts')).acceptClockCommand(actions.acceptClock),
    },
  ]);
}
