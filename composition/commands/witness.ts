/** `mandate witness`: the other side of a transparency log, for an auditor (C2SP tlog-witness v1.0.0). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';

export function witnessCommand(): Command {
  return commandGroup('witness', [
    {
      usage: 'init',
      summary: 'Make a witness: its key, its memory, and the verifier key that it prints',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/init.ts')).initCommand(),
    },
    {
      usage: 'serve',
      summary: 'Run a witness until a signal stops it',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/serve.ts')).serveCommand(),
    },
    {
      usage: 'accept-clock',
      summary: 'After the clock was ahead: date the next cosignatures by the clock of this machine',
      page: 'docs/witnesses.md',
      load: async () => (await import('./witness/accept-clock.ts')).acceptClockCommand(),
    },
  ]);
}
