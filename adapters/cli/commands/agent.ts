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

/** @param actions each does it, reports, and answers the exit code */
export function agentCommand({ init, apply }: AgentActions): Command {
  return commandGroup('agent', 'Keep the registrations of agents in files', [
    agentInitCommand(init),
    agentApplyCommand(apply),
  ]);
}
