/** `mandate witness`: the other side of a transparency log, for an auditor (C2SP tlog-witness v1.0.0). */

import { once } from '../argument.ts';
import { type Command, command, commandGroup, exitCode } from '../command.ts';

export interface WitnessInitRequest {
  readonly name: string;
  /** The file of the private key, which is generated if the file does not exist. */
  readonly key: string;
  /** The new file for the memory of the witness. */
  readonly state: string;
}

export interface WitnessServeRequest {
  readonly key: string;
  readonly state: string;
  /** The verifier keys of the watched logs, as given. */
  readonly logs: readonly string[];
  readonly host: string;
  readonly port: number;
}

export interface WitnessAcceptClockRequest {
  readonly state: string;
}

interface WitnessActions {
  init(request: WitnessInitRequest): Promise<number>;
  /** Resolves once the server has stopped. */
  serve(request: WitnessServeRequest): Promise<number>;
  acceptClock(request: WitnessAcceptClockRequest): Promise<number>;
}

export function witnessCommand({ init, serve, acceptClock }: WitnessActions): Command {
  return commandGroup('witness', 'Watch the logs of others, and cosign their checkpoints', [
    initCommand(init),
    serveCommand(serve),
    acceptClockCommand(acceptClock),
  ]);
}

const text = (value: string) => value;
const file = (name: string, describe: string) =>
  ({ type: 'string', describe, demandOption: true, coerce: once(name, text) }) as const;

function initCommand(run: WitnessActions['init']): Command {
  return command({
    usage: 'init',
    summary: 'Make a witness: its key, its memory, and the verifier key that it prints',
    examples: [
      {
        line: 'witness init --name auditor.example/w1 --key witness.pem --state witness.db',
        meaning: 'Print the verifier key of the new witness, for the operators of logs',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the witness was made',
      [exitCode.failed]: 'the key could not be read or written, or the state file exists already',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('name', file('--name', 'The name of the witness, best an address without a scheme; no space, no plus'))
        .option('key', file('--key', 'The file of its Ed25519 key in PEM, generated if it does not exist'))
        .option('state', file('--state', 'The new SQLite file with what it has cosigned')),
    run: ({ name, key, state }) => run({ name: name ?? '', key: key ?? '', state: state ?? '' }),
  });
}

function serveCommand(run: WitnessActions['serve']): Command {
  return command({
    usage: 'serve',
    summary: 'Run a witness until a signal stops it',
    examples: [
      {
        line: "witness serve --key witness.pem --state witness.db --log 'mandate.example/ledger+1f2e3d4c+AQ…'",
        meaning: 'Watch one log, at http://127.0.0.1:5180; a proxy in front adds TLS',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'stopped by SIGTERM or SIGINT',
      [exitCode.failed]:
        'could not start: standard error says why. A lost state file is never replaced by an empty one',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('key', file('--key', 'The file of the key'))
        .option('state', file('--state', 'The state file that `witness init` made'))
        .option('log', {
          type: 'string',
          array: true,
          nargs: 1,
          demandOption: true,
          describe: 'The verifier key of a log, whose name is the origin of the log; once for each key',
        })
        .option('host', {
          type: 'string',
          default: '127.0.0.1',
          describe: 'The address to listen on',
          coerce: once('--host', text),
        })
        .option('port', {
          type: 'string',
          default: '5180',
          describe: 'The port to listen on; 0 takes any free one',
          coerce: once('--port', readPort),
        }),
    run: ({ key, state, log, host, port }) =>
      run({ key: key ?? '', state: state ?? '', logs: log.map(String), host: host ?? '', port: port ?? 0 }),
  });
}

function acceptClockCommand(run: WitnessActions['acceptClock']): Command {
  return command({
    usage: 'accept-clock',
    summary: 'After the clock was ahead: date the next cosignatures by the clock of this machine',
    examples: [
      {
        line: 'witness accept-clock --state witness.db',
        meaning: 'Lower the times of last cosignatures that are ahead; their sizes and roots stay',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the report says which times were lowered',
      [exitCode.failed]: 'the state file is not there, or could not be changed',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) => parser.option('state', file('--state', 'The state file that `witness init` made')),
    run: ({ state }) => run({ state: state ?? '' }),
  });
}

const MAX_PORT = 65_535;

/** @throws Error with the refusal as its message */
function readPort(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new Error(`--port takes a number from 0 to ${MAX_PORT}.`);
  return port;
}
