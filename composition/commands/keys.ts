/** `mandate keys`: the service's signing keys (specification "Configuration rules"; supplement "How it runs"). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';

export function keysCommand(): Command {
  return commandGroup('keys', [
    {
      usage: 'generate',
      summary: 'Generate a signing key, and print its settings',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/generate.ts')).generateCommand(),
    },
    {
      usage: 'rotate',
      summary: 'Rotate the signing key in three steps: print the settings of each step, and which step is next',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/rotate.ts')).rotateCommand(),
    },
    {
      usage: 'show',
      summary: 'Show the configured keys, and the published key set',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/show.ts')).showCommand(),
    },
    {
      usage: 'retire',
      summary: 'Replace the file of a former key by its public half: it still verifies, and cannot sign any more',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/retire.ts')).retireCommand(),
    },
  ]);
}
