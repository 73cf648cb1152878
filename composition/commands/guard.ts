/** `mandate guard`: the tool-server library in front of a service in any language. It needs no setting and no database. */

import { flag, once } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { EXIT_CODES, OPTIONS } from '../guard/guard-help.ts';
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
    exitCodes: EXIT_CODES,
    options: (parser) =>
      parser
        .option('config', {
          type: 'string',
          demandOption: true,
          describe: OPTIONS.config,
          coerce: once('--config', (text) => text),
        })
        .option('check', { ...flag, describe: OPTIONS.check })
        .option('approval-jwks', { ...flag, describe: OPTIONS['approval-jwks'] })
        .option('probe', {
          type: 'string',
          describe: OPTIONS.probe,
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
