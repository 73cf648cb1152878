/** `mandate agent`: registrations of agents in files. */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';
import { agentApplyCommand } from './agent/apply.ts';
import { agentInitCommand } from './agent/init.ts';

export function agentCommand(): Command {
  return commandGroup('agent', 'Declare the registrations of agents in files', [
    agentInitCommand(),
    agentApplyCommand(),
  ]);
}
