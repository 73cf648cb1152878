/** `mandate keys`: the service's signing keys (specification "Configuration rules"; decisions "How it runs"). */

import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { commandGroup } from '../command-group.ts';
import { exitCode } from '../exit-code.ts';
import { readReplicaAddress } from '../replica-address.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** The exit code of a rotation whose next step has to wait for a replica. */
export const NOT_PUBLISHED = 3;

export interface GenerateRequest {
  /** `-` is standard output. */
  readonly out: string;
  readonly kid: string | undefined;
  readonly json: boolean;
}

export interface RotateRequest {
  /** The file of the next key: made when it is not there. */
  readonly next: string;
  readonly kid: string | undefined;
  /** Origins of replicas. */
  readonly servers: readonly string[];
  readonly json: boolean;
}

export interface ShowRequest {
  readonly json: boolean;
}

type Act<Request> = (request: Request, settings: readonly SettingArgument[]) => Promise<number>;

export interface KeysActions {
  readonly generate: Act<GenerateRequest>;
  readonly rotate: Act<RotateRequest>;
  readonly show: Act<ShowRequest>;
}

/** @param actions each does it, reports, and answers the exit code */
export function keysCommand({ generate, rotate, show }: KeysActions): Command {
  return commandGroup('keys', 'Make, rotate and show the signing keys', [
    generateCommand(generate),
    rotateCommand(rotate),
    showCommand(show),
  ]);
}

const text = (value: string) => value;
// Without `nargs` it would take any value, and none but `true` for yes.
const json = { type: 'boolean', nargs: 0, default: false } as const;

function generateCommand(run: Act<GenerateRequest>): Command {
  return command({
    usage: 'generate',
    summary: 'Make a signing key, and say which settings take it up',
    examples: [
      { line: 'keys generate --out /run/secrets/signing-key.pem', meaning: 'A new file, for its owner alone' },
      { line: 'keys generate --out -', meaning: 'The key on standard output, the report beside it on standard error' },
    ],
    exitCodes: {
      [exitCode.done]: 'the key was made',
      [exitCode.failed]: 'the file could not be written; one that is there already is never overwritten',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('out', {
          type: 'string',
          // Without it, `-` would be an option.
          nargs: 1,
          describe: 'The file to make, or - for standard output',
          demandOption: true,
          coerce: once('--out', text),
        })
        .option('kid', {
          type: 'string',
          describe: 'What the key is to be called; by default its RFC 7638 thumbprint',
          coerce: once('--kid', text),
        })
        .option('json', { ...json, describe: 'Report as one JSON object' }),
    run: ({ out, kid, json }, settings) => run({ out: out ?? '', kid, json }, settings),
  });
}

function rotateCommand(run: Act<RotateRequest>): Command {
  return command({
    usage: 'rotate',
    summary: 'Change the signing key in three steps: says what each step sets, and which one is next',
    examples: [
      {
        line: 'keys rotate --next /run/secrets/signing-key-2.pem',
        meaning: 'Makes the next key, if it is not there yet, and shows the three steps; safe to repeat',
      },
      {
        line: 'keys rotate --next FILE --server http://10.0.0.4:5100 --server http://10.0.0.5:5100',
        meaning: 'The same, and asks each replica whether it publishes the key by now',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the steps are shown; every replica that was asked publishes what the settings here say',
      [exitCode.failed]: 'the configured keys or the next one could not be read or written',
      [exitCode.usage]: 'an argument is malformed',
      [NOT_PUBLISHED]: 'a replica that was asked does not publish what the settings here say, or does not answer',
    },
    options: (parser) =>
      parser
        .option('next', {
          type: 'string',
          describe: 'The file of the next key, made if it is not there',
          demandOption: true,
          coerce: once('--next', text),
        })
        .option('kid', {
          type: 'string',
          describe: 'What the next key is to be called; by default its RFC 7638 thumbprint',
          coerce: once('--kid', text),
        })
        .option('server', {
          type: 'string',
          array: true,
          nargs: 1,
          describe: 'A replica to ask for its published keys; once for each, past any load balancer',
          coerce: (given: unknown) => (Array.isArray(given) ? given.map((one) => readReplicaAddress(String(one))) : []),
        })
        .option('json', { ...json, describe: 'Report as one JSON object' }),
    run: ({ next, kid, server, json }, settings) =>
      run({ next: next ?? '', kid, servers: server ?? [], json }, settings),
  });
}

function showCommand(run: Act<ShowRequest>): Command {
  return command({
    usage: 'show',
    summary: 'Show the configured keys, and what is published of them',
    examples: [
      { line: 'keys show', meaning: 'Which key signs, and all of their names and thumbprints' },
      {
        line: 'keys show --json > published-keys.json',
        meaning: 'The key set as published, for --jwks of audit-verify and audit-archive',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the keys are shown',
      [exitCode.failed]: 'there are none, or one cannot be read',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser.option('json', { ...json, describe: 'The published key set (RFC 7517), and nothing else' }),
    run: ({ json }, settings) => run({ json }, settings),
  });
}
