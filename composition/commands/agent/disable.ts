/** `mandate agent disable`: the agent gets no token from now on (specification "Agent"). */

import { value } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import {
  type Emergency,
  emergencyOf,
  emergencyOptions,
  readAgentArgument,
} from '../../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { EMERGENCY_EXIT_CODES, runEmergency, tokensWork, UNCHANGED } from '../emergency.ts';

export function agentDisableCommand(): Command {
  return command({
    examples: [
      {
        line: 'agent disable jira-triage --server https://mandate.example --reason "Key disclosed"',
        meaning: 'Disable an agent, after a question',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the agent is disabled',
      ...EMERGENCY_EXIT_CODES,
      [UNCHANGED]: 'nothing was changed: there is no such agent, or the question was not answered with yes',
    },
    options: (parser) =>
      emergencyOptions(
        parser.positional('agent', {
          ...value('agent', readAgentArgument),
          describe: 'The agent_id of the agent',
          demandOption: true,
        }),
      ),
    run: ({ agent, ...options }, settings) =>
      agentDisable({ ...emergencyOf(options), agent: agent as AgentId }, settings),
  });
}

function agentDisable(
  { agent, ...emergency }: Emergency & { readonly agent: AgentId },
  settings: readonly SettingArgument[],
): Promise<number> {
  return runEmergency(emergency, settings, {
    question: `Disable the agent ${agent}?`,
    async send(switches) {
      if ((await switches.disable(agent)) === 'not_found') {
        return { code: UNCHANGED, lines: ['There is no such agent. Nothing was changed.'] };
      }
      const tasks = `Its tasks did not end: "mandate stop --agent ${agent}" ends them.`;
      return {
        code: exitCode.done,
        lines: [`${agent} is disabled: it gets no token. ${tasks}`, tokensWork(switches, agent)],
      };
    },
  });
}
