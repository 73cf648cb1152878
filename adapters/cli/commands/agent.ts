/** `mandate agent`: registrations of agents in files (decisions "How it runs"). */

import type { Command } from '../command.ts';
import { commandGroup } from '../command-group.ts';
import type { SettingArgument } from '../setting-arguments.ts';
import { type ApplyRequest, agentApplyCommand } from './agent-apply.ts';
import { agentInitCommand, type InitRequest } from './agent-init.ts';

export interface AgentActions {
  readonly init: (request: InitRequest) => Promise<number>;
  readonly apply: (request: ApplyRequest, settings: readonly SettingArgument[]) => Promise<number>;
}

/** @param actions each runs its command, reports, and resolves with the exit code */
export function agentCommand({ init, apply }: AgentActions): Command {
  return commandGroup('agent', 'Declare the registrations of agents in files', [
    agentInitCommand(init),
    agentApplyCommand(apply),
  ]);
}
