/** What the help of both programs says: `mandate guard` and `mandate-guard`. */

import { exitCode } from '../../adapters/cli/exit-code.ts';

/** The options, by name. */
export const OPTIONS = {
  config: 'The file of the guard, in YAML',
  check: 'Check the file, name overlapping routes, and end',
  'approval-jwks': 'Print the public key of approval_key as a key set, for the operator of Mandate, and end',
  probe:
    'Warn if this address answers a request without a token: where others would reach the upstream; --check ends then',
} as const;

export const EXIT_CODES = {
  [exitCode.done]:
    'stopped by SIGTERM or SIGINT; with --check the file can be used; with --approval-jwks the key is printed',
  [exitCode.failed]: 'could not start: standard error says why',
  [exitCode.usage]: 'an argument is malformed, or the file has faults: standard error names each with its line',
} as const;
