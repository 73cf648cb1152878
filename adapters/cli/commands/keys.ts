/** `mandate keys`: the service's signing keys (specification "Configuration rules"; supplement "How it runs"). */

import { flag, once } from '../argument.ts';
import { type Command, command, commandGroup, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** The exit code if the next step of a rotation must wait for a replica. */
export const NOT_PUBLISHED = 3;

export interface GenerateRequest {
  /** A path, or `-` for standard output. */
  readonly out: string;
  readonly kid: string | undefined;
  readonly json: boolean;
}

export interface RotateRequest {
  /** The file of the next key, which is generated if the file does not exist. */
  readonly next: string;
  readonly kid: string | undefined;
  /** The addresses of replicas. */
  readonly servers: readonly string[];
  readonly json: boolean;
}

export interface ShowRequest {
  readonly as: 'words' | 'json' | 'pem';
  /** With `pem`, the only key to print. */
  readonly kid: string | undefined;
}

export interface RetireRequest {
  /** The name of the key. */
  readonly kid: string;
  readonly json: boolean;
}

type Act<Request> = (request: Request, settings: readonly SettingArgument[]) => Promise<number>;

interface KeysActions {
  readonly generate: Act<GenerateRequest>;
  readonly rotate: Act<RotateRequest>;
  readonly show: Act<ShowRequest>;
  readonly retire: Act<RetireRequest>;
}

/** @param actions each runs its command, reports, and resolves with the exit code */
export function keysCommand({ generate, rotate, show, retire }: KeysActions): Command {
  return commandGroup('keys', 'Generate, rotate, show and retire the signing keys', [
    generateCommand(generate),
    rotateCommand(rotate),
    showCommand(show),
    retireCommand(retire),
  ]);
}

const text = (value: string) => value;

function generateCommand(run: Act<GenerateRequest>): Command {
  return command({
    usage: 'generate',
    summary: 'Generate a signing key, and print its settings',
    examples: [
      { line: 'keys generate --out /run/secrets/signing-key.pem', meaning: 'A new file that only its owner can read' },
      { line: 'keys generate --out -', meaning: 'The key on standard output, the report on standard error' },
    ],
    exitCodes: {
      [exitCode.done]: 'the key was generated',
      [exitCode.failed]: 'the file could not be written; an existing one is never overwritten',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('out', {
          type: 'string',
          // Without nargs, the parser would read `-` as an option.
          nargs: 1,
          describe: 'The new file, or - for standard output',
          demandOption: true,
          coerce: once('--out', text),
        })
        .option('kid', {
          type: 'string',
          describe: 'The name of the key; by default its RFC 7638 thumbprint',
          coerce: once('--kid', text),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ out, kid, json }, settings) => run({ out: out ?? '', kid, json }, settings),
  });
}

function rotateCommand(run: Act<RotateRequest>): Command {
  return command({
    usage: 'rotate',
    summary: 'Rotate the signing key in three steps: print the settings of each step, and which step is next',
    examples: [
      {
        line: 'keys rotate --next /run/secrets/signing-key-2.pem',
        meaning: 'Generate the next key if its file does not exist, and show the three steps; safe to repeat',
      },
      {
        line: 'keys rotate --next FILE --server http://10.0.0.4:5100 --server http://10.0.0.5:5100',
        meaning: 'The same, and ask each replica whether it already publishes the key',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the steps are shown; every named replica publishes the configured keys',
      [exitCode.failed]: 'the configured keys or the next one could not be read or written',
      [exitCode.usage]: 'an argument is malformed',
      [NOT_PUBLISHED]: 'a named replica does not publish the configured keys, or does not answer',
    },
    options: (parser) =>
      parser
        .option('next', {
          type: 'string',
          describe: 'The file of the next key, generated if it does not exist',
          demandOption: true,
          coerce: once('--next', text),
        })
        .option('kid', {
          type: 'string',
          describe: 'The name of the next key; by default its RFC 7638 thumbprint',
          coerce: once('--kid', text),
        })
        .option('server', {
          type: 'string',
          array: true,
          nargs: 1,
          describe: 'A replica to ask for its published keys; once for each, bypassing any load balancer',
          coerce: (given: unknown) => (Array.isArray(given) ? given.map((one) => readReplicaAddress(String(one))) : []),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ next, kid, server, json }, settings) =>
      run({ next: next ?? '', kid, servers: server ?? [], json }, settings),
  });
}

function showCommand(run: Act<ShowRequest>): Command {
  return command({
    usage: 'show',
    summary: 'Show the configured keys, and the published key set',
    examples: [
      { line: 'keys show', meaning: 'Which key signs, and the names and thumbprints of all keys' },
      {
        line: 'keys show --json > published-keys.json',
        meaning: 'The key set as published, for --jwks of audit-verify and audit-archive',
      },
      {
        line: 'keys show --pem > mandate.pem',
        meaning: 'The public keys in PEM, for HAProxy and other programs that read no key set',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the keys are shown',
      [exitCode.failed]: 'no key is configured, or one cannot be read',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('json', { ...flag, describe: 'Print only the published key set (RFC 7517)' })
        .option('pem', { ...flag, describe: 'Print only the published keys in PEM (SPKI), the one that signs first' })
        .option('kid', {
          type: 'string',
          describe: 'With --pem, print only the key of this name',
          coerce: once('--kid', text),
        })
        .check(({ json, pem, kid }) => {
          if (json && pem) throw new Error('--json and --pem exclude each other.');
          if (kid !== undefined && !pem) throw new Error('--kid needs --pem.');
          return true;
        }),
    run: ({ json, pem, kid }, settings) => run({ as: pem ? 'pem' : json ? 'json' : 'words', kid }, settings),
  });
}

function retireCommand(run: Act<RetireRequest>): Command {
  return command({
    usage: 'retire',
    summary: 'Replace the file of a former key by its public half: it still verifies, and cannot sign any more',
    examples: [
      {
        line: 'keys retire --kid=KID',
        meaning: 'After a rotation, once every replica signs with another key; the setting keeps naming the file',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the file holds only the public half',
      [exitCode.failed]:
        'the key signs, is given by Pem, is not configured, has no private half, or its file could not be replaced',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('kid', {
          type: 'string',
          describe: 'The name of the key, as mandate keys show prints it',
          demandOption: true,
          coerce: once('--kid', text),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ kid, json }, settings) => run({ kid: kid ?? '', json }, settings),
  });
}

/**
 * Parses the address of a replica, and removes a trailing slash. Plain http is allowed, because no secret is sent there.
 * @throws Error with the refusal as its message
 */
function readReplicaAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error('--server takes the http or https address of a replica.');
  }
  return url.href.replace(/\/+$/, '');
}
