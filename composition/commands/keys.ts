/** `mandate keys`: the service's signing keys (specification "Configuration rules"; supplement "How it runs"). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import type { keysGenerate } from './keys/generate.ts';
import type { keysRetire } from './keys/retire.ts';
import type { keysRotate } from './keys/rotate.ts';
import type { keysShow } from './keys/show.ts';

interface KeysActions {
  readonly generate?: typeof keysGenerate;
  readonly rotate?: typeof keysRotate;
  readonly show?: typeof keysShow;
  readonly retire?: typeof keysRetire;
}

/** @param actions replace those of the commands, in a test */
export function keysCommand(actions: KeysActions = {}): Command {
  return commandGroup('keys', [
    {
      usage: 'generate',
      summary: 'Generate a signing key, and print its settings',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/generate.ts')).generateCommand(actions.generate),
    },
    {
      usage: 'rotate',
      summary: 'Rotate the signing key in three steps: print the settings of each step, and which step is next',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/rotate.ts')).rotateCommand(actions.rotate),
    },
    {
      usage: 'show',
      summary: 'Show the configured keys, and the published key set',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/show.ts')).showCommand(actions.show),
    },
    {
      usage: 'retire',
      summary: 'Replace the file of a former key by its public half: it still verifies, and cannot sign any more',
      page: 'docs/operating.md#rotating-the-signing-key',
      load: async () => (await import('./keys/retire.ts')).retireCommand(actions.retire),
    },
  ]);
}
