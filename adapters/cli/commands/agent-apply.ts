import { withoutKeyOption } from '../admin-key.ts';
import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import type { SettingArgument } from '../setting-arguments.ts';
import { trustedUrl } from '../trusted-url.ts';

/** The exit code if a file is wrong. */
export const WRONG_FILES = 3;

export interface ApplyRequest {
  readonly files: readonly string[];
  /** Without a trailing slash. */
  readonly server: string;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** @param run applies, reports, and resolves with the exit code */
export function agentApplyCommand(
  run: (request: ApplyRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'apply <files..>',
    summary:
      'Make the agents of a running service match YAML files. The admin key is read from MANDATE_ADMIN_KEY, or else from standard input',
    examples: [
      {
        line: 'agent apply agents/*.yaml --server https://mandate.example --dry-run',
        meaning: 'Report what would be created and changed, and write nothing',
      },
      {
        line: 'agent apply agents/*.yaml --server https://mandate.example < admin-key',
        meaning: 'Apply the files; a second run changes nothing',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every agent matches its file; with --dry-run, would match as far as the command can check',
      [exitCode.failed]: 'the service refused an agent, could not be reached, or refused the key',
      [exitCode.usage]: 'an argument is wrong, or there is no key',
      [WRONG_FILES]: 'a file is wrong: nothing was sent',
    },
    options: (parser) =>
      withoutKeyOption(
        parser
          .positional('files', { type: 'string', array: true, demandOption: true, describe: 'The files, in YAML' })
          .option('server', {
            type: 'string',
            demandOption: true,
            describe: 'The address of the service: an https URL, or an http one of this machine',
            coerce: once('--server', readServer),
          })
          .option('dry-run', { type: 'boolean', nargs: 0, default: false, describe: 'Write nothing' })
          .option('json', { type: 'boolean', nargs: 0, default: false, describe: 'Report as one JSON object' }),
      ),
    run: ({ files, server, 'dry-run': dryRun, json }, settings) =>
      run({ files, server: server ?? '', dryRun, json }, settings),
  });
}

function readServer(text: string): string {
  const url = trustedUrl(text);
  if (url === undefined || url.search !== '' || url.hash !== '') {
    throw new Error('--server takes an https URL, or an http one of this machine, without user, query and fragment.');
  }
  return url.href.replace(/\/+$/, '');
}
