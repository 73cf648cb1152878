/** `mandate agent`: registrations of agents in files, and their emergency switch. */

import { type Command, commandGroup } from '../../adapters/cli/command.ts';

export function agentCommand(): Command {
  return commandGroup('agent', [
    {
      usage: 'init <agent-id>',
      summary: 'Generate a key pair for an agent, and a registration file to review and apply',
      page: 'docs/agents-as-files.md',
      load: async () => (await import('./agent/init.ts')).agentInitCommand(),
    },
    {
      usage: 'apply <files..>',
      summary:
        'Make the agents of a running service match YAML files. The admin key is read from MANDATE_ADMIN_KEY, or else from standard input',
      page: 'docs/agents-as-files.md',
      load: async () => (await import('./agent/apply.ts')).agentApplyCommand(),
    },
    {
      usage: 'disable <agent>',
      summary: 'Disable an agent of a running service: it gets no token. Its tasks do not end',
      page: 'docs/operating.md#stopping-an-agent-a-person-a-task',
      load: async () => (await import('./agent/disable.ts')).agentDisableCommand(),
    },
  ]);
}
