/** `mandate keys`: the service's signing keys (specification "Configuration rules"; supplement "How it runs"). */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import { generateCommand, type keysGenerate } from './keys/generate.ts';
import { type keysRetire, retireCommand } from './keys/retire.ts';
import { type keysRotate, rotateCommand } from './keys/rotate.ts';
import { type keysShow, showCommand } from './keys/show.ts';

interface KeysActions {
  readonly generate?: typeof keysGenerate;
  readonly rotate?: typeof keysRotate;
  readonly show?: typeof keysShow;
  readonly retire?: typeof keysRetire;
}

/** @param actions replace those of the commands, in a test */
export function keysCommand(actions: KeysActions = {}): Command {
  return commandGroup('keys', 'Generate, rotate, show and retire the signing keys', [
    generateCommand(actions.generate),
    rotateCommand(actions.rotate),
    showCommand(actions.show),
    retireCommand(actions.retire),
  ]);
}
