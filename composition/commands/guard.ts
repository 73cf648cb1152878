/** `mandate guard`: the tool-server library in front of a service in any language. It needs no setting and no database. */

import { flag, once } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { readProbe, refuseTogether, runGuard } from '../guard/run-guard.ts';

export function guardCommand(run = runGuard): Command {
  return command({
    examples: [
      { line: 'guard --config guard.yaml', meaning: 'Run the guard until a signal stops it' },
      { line: 'guard --config guard.yaml --check', meaning: 'Only check the file' },
      {
        line: 'guard --config guard.yaml --approval-jwks > approval-jwks.json',
        meaning: 'The public key of approval_key, for Service:Approvals:Resources:N:Jwks',
      },
    ],
    exitCodes: {
      [exitCode.done]:
        'stopped by SIGTERM or SIGINT; with --check the file can be used; with --approval-jwks the key is printed',
      [exitCode.failed]: 'could not start: standard error says why',
      [exitCode.usage]: 'an argument is malformed, or the file has faults: standard error names each with its line',
    },
    options: (parser) =>
      parser
        .option('config', {
          type: 'string',
          demandOption: true,
          describe: 'The file of the guard, in YAML',
          coerce: once('--config', (text) => text),
        })
        .option('check', { ...flag, describe: 'Check the file, name overlapping routes, and end' })
        .option('approval-jwks', {
          ...flag,
          describe: 'Print the public key of approval_key as a key set, for the operator of Mandate, and end',
        })
        .option('probe', {
          type: 'string',
          describe: 'Warn if this address answers a request without a token: where others would reach the upstream',
          coerce: once('--probe', readProbe),
        })
        .check(({ check, 'approval-jwks': approvalJwks }) => {
          refuseTogether({ check, approvalJwks });
          return true;
        }),
    run: ({ config, check, 'approval-jwks': approvalJwks, probe }) =>
      run({ config: config ?? '', check, approvalJwks, probe }),
  });
}
