import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { exitCode } from '../exit-code.ts';

export interface InitRequest {
  readonly agentId: string;
  readonly displayName: string | undefined;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  /** The directory for the two files. */
  readonly directory: string;
  readonly json: boolean;
}

/** @param run writes the files, reports, and resolves with the exit code */
export function agentInitCommand(run: (request: InitRequest) => Promise<number>): Command {
  return command({
    usage: 'init <agent-id>',
    summary: 'Generate a key pair for an agent, and a registration file to review and apply',
    examples: [
      {
        line: 'agent init jira-triage --scope jira:read --audience https://jira.example',
        meaning: 'Write jira-triage.key.pem and jira-triage.yaml to the current directory',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'both files are written',
      [exitCode.failed]: 'a file exists already or could not be written: no file was left behind',
      [exitCode.usage]: 'an argument is wrong',
    },
    options: (parser) =>
      parser
        .positional('agent-id', {
          type: 'string',
          demandOption: true,
          describe: 'Its name: lowercase letters, digits, hyphens, underscores and dots',
        })
        .option('scope', {
          type: 'string',
          array: true,
          nargs: 1,
          demandOption: true,
          describe: 'A scope that the agent may get; once for each scope',
        })
        .option('audience', {
          type: 'string',
          array: true,
          nargs: 1,
          demandOption: true,
          describe: 'The URL of a tool server for its tokens; once for each',
        })
        .option('display-name', {
          type: 'string',
          describe: 'Its display name; by default its id',
          coerce: once('--display-name', (name) => name),
        })
        .option('to', {
          type: 'string',
          describe: 'The directory for the files; by default the current one',
          coerce: once('--to', (path) => path),
        })
        .option('json', { type: 'boolean', nargs: 0, default: false, describe: 'Report as one JSON object' }),
    run: ({ 'agent-id': agentId, scope, audience, 'display-name': displayName, to, json }) =>
      run({ agentId, displayName, scopes: scope, audiences: audience, directory: to ?? '.', json }),
  });
}
