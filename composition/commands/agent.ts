/** `mandate agent`: registrations of agents in files. */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import { agentApplyCommand } from './agent/apply.ts';
import { agentDisableCommand } from './agent/disable.ts';
import { agentInitCommand } from './agent/init.ts';

export function agentCommand(): Command {
  return commandGroup('agent', 'Declare the registrations of agents in files, and disable agents', [
    agentInitCommand(),
    agentApplyCommand(),
    agentDisableCommand(),
  ]);
}
