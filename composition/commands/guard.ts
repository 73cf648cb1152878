/** `mandate guard`: the tool-server library in front of a service in any language. It needs no setting and no database. */

import { flag, texts, value } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { EXIT_CODES, type GuardOption, type GuardRequest, OPTIONS, refuseTogether } from '../guard/guard-options.ts';
import { runGuard } from '../guard/run-guard.ts';

export function guardCommand(): Command {
  return command({
    examples: [
      { line: 'guard --config guard.yaml', meaning: 'Run the guard until a signal stops it' },
      { line: 'guard --config guard.yaml --check', meaning: 'Only check the file' },
      {
        line: 'guard --config guard.yaml --probe http://10.0.0.7:3000',
        meaning: 'Whether the service answers others, who go around the guard',
      },
      {
        line: 'guard --config guard.yaml --approval-jwks > approval-jwks.json',
        meaning: 'The public key of approval_key, for Service:Approvals:Resources:N:Jwks',
      },
    ],
    exitCodes: EXIT_CODES,
    options: (parser) =>
      parser.options(Object.fromEntries(Object.entries(OPTIONS).map(asDeclared))).check((given) => {
        refuseTogether(given);
        return true;
      }),
    run: (options) => runGuard(options as unknown as GuardRequest),
  });
}

function asDeclared([name, { meaning: describe, example, isRequired, isList, read = String }]: [string, GuardOption]) {
  if (example === undefined) return [name, { ...flag, describe }] as const;
  if (isList) return [name, { ...texts, coerce: (given?: readonly string[]) => given?.map(read), describe }] as const;
  return [name, { ...value(`--${name}`, read), describe, ...(isRequired && { demandOption: true }) }] as const;
}
