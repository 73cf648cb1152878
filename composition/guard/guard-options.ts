/**
 * The command line of the guard's two programs, `mandate guard` and `mandate-guard`: a row for each option. Both read their
 * lines and print their help by these rows, each with its own parser.
 */

import { exitCode } from '../../adapters/cli/exit-code.ts';

/** What a line asks for. */
export interface GuardRequest {
  /** The path of the file. */
  readonly config: string;
  /** Only check the file. */
  readonly check: boolean;
  /** Only print the public half of `approval_key`, as a key set (RFC 7517). */
  readonly 'approval-jwks': boolean;
  /** Only ask these addresses without a token. */
  readonly probe: readonly URL[] | undefined;
}

export interface GuardOption {
  readonly meaning: string;
  /** An example of its value. An option without an example takes no value. */
  readonly example?: string;
  readonly isRequired?: true;
  /** A line may repeat it, with one value each time. */
  readonly isList?: true;
  /** @throws Error with the refusal as its message */
  readonly read?: (text: string) => unknown;
}

export const OPTIONS: { readonly [Name in keyof GuardRequest]: GuardOption } = {
  config: { meaning: 'The file of the guard, in YAML', example: 'guard.yaml', isRequired: true },
  check: { meaning: 'Check the file, name overlapping routes, and end' },
  'approval-jwks': {
    meaning: 'Print the public key of approval_key as a key set, for the operator of Mandate, and end',
  },
  probe: {
    meaning: 'Ask this address, under which others would reach the upstream, without a token, and end; can be repeated',
    example: 'URL',
    isList: true,
    read: readProbe,
  },
};

export const EXIT_CODES = {
  [exitCode.done]:
    'stopped by SIGTERM or SIGINT; with --check the file can be used; with --probe each address refuses or cannot be reached; with --approval-jwks the key is printed',
  [exitCode.failed]:
    'could not start, or the reader of standard output has left: standard error says why; with --probe an address answers otherwise',
  [exitCode.usage]: 'an argument is malformed, or the file has faults: standard error names each with its line',
} as const;

function readProbe(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error('--probe takes an http or https URL, without user and password.');
  }
  return url;
}

/** Each of them prints, and ends with its own exit code. */
const EXCLUDING = [
  ['check', 'approval-jwks'],
  ['probe', 'approval-jwks'],
] as const;

/** @param given by the names of the options. @throws Error with the refusal as its message */
export function refuseTogether(given: Readonly<Record<string, unknown>>): void {
  const isGiven = (name: string) => given[name] !== undefined && given[name] !== false;
  const both = EXCLUDING.find((names) => names.every(isGiven));
  if (both !== undefined) throw new Error(`--${both[0]} and --${both[1]} exclude each other.`);
}
