/** `mandate witness serve` (C2SP tlog-witness v1.0.0). */

import { texts, textValue, value } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { systemClock } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { cosignCheckpoint } from '../../../application/log/cosign-checkpoint.ts';
import { witnessClock } from '../../../application/log/witness-clock.ts';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import { ED25519, formatVerifierKey, parseVerifierKey, type VerifierKey } from '../../../domain/log/verifier-key.ts';
import { hostToListenOn, listen } from '../../listen.ts';
import { startRecurring } from '../../recurring.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { untilToldToStop } from '../../until-told-to-stop.ts';
import { printError, runCommand } from '../run-command.ts';
import { fileOption, openState, readSigner } from './files.ts';

interface WitnessServeRequest {
  readonly key: string;
  readonly state: string;
  /** The verifier keys of the watched logs, as given. */
  readonly logs: readonly string[];
  readonly host: string;
  readonly port: number;
}

export function serveCommand(run = witnessServe): Command {
  return command({
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
    },
    options: (parser) =>
      parser
        .option('key', fileOption('--key', 'The file of the key'))
        .option('state', fileOption('--state', 'The state file that `witness init` made'))
        .option('log', {
          ...texts,
          demandOption: true,
          describe: 'The verifier key of a log, whose name is the origin of the log; once for each key',
        })
        .option('host', { ...textValue('--host'), describe: 'The address to listen on', default: '127.0.0.1' })
        .option('port', {
          ...value('--port', readPort),
          describe: 'The port to listen on; 0 takes any free one',
          default: '5180',
        }),
    run: ({ key, state, log, host, port }) =>
      run({ key: key ?? '', state: state ?? '', logs: log.map(String), host: host ?? '', port: port ?? 0 }),
  });
}

const MAX_PORT = 65_535;

/** @throws Error with the refusal as its message */
function readPort(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new Error(`--port takes a number from 0 to ${MAX_PORT}.`);
  return port;
}

/** A clock that is set is noticed after this time, or at the next request. */
const WATCHING = { name: 'comparing the clocks', intervalMs: 1000, firstAfterMs: 0 };

/** Runs a witness until a signal asks it to stop. */
export function witnessServe(request: WitnessServeRequest): Promise<number> {
  return runCommand(async (log) => {
    const logKeys = request.logs.map((text) => parseVerifierKey(sha256Bytes, text));
    if (!logKeys.every((key): key is VerifierKey => key?.type === ED25519)) {
      printError('--log takes the verifier key of a log: its name, its id and its Ed25519 key, joined by plus signs.');
      return exitCode.usage;
    }
    // The help of all commands does not wait for Express.
    const { witnessApp } = await import('../../../adapters/http/witness/witness-app.ts');
    const file = await openState(request.state);
    try {
      const signer = await signerOf(file.vkey, request);
      const clock = witnessClock({
        clock: systemClock(),
        monotonic: () => performance.now(),
        logs: file.logs,
        log,
        origins: logKeys.map(({ name }) => name),
      });
      const witness = { signer, logs: file.logs, logKeys, verify: verifyEd25519, hash: sha256Bytes, clock };
      await untilToldToStop(async (told) => {
        const app = witnessApp({
          cosign: (body) => cosignCheckpoint(witness, body),
          readiness: [file.readiness, clock.readiness],
          log,
        });
        const names = { host: '--host', port: '--port' };
        const host = await hostToListenOn(request.host, log);
        const server = await listen({ HOST: host, PORT: request.port }, { ...app, log }, names);
        log.info('listening', { ...server.address, witness: signer.key.name, logs: logKeys.length });
        const watching = startRecurring({ ...WATCHING, run: () => clock.watch() }, log);
        await told;
        await watching.stop();
        await server.stop(0);
      });
    } finally {
      await file.close();
    }
    return exitCode.done;
  });
}

/** @param vkey of the state file @throws StartupError if the key file does not hold this key */
async function signerOf(vkey: string, { key: file, state }: WitnessServeRequest): Promise<NoteSigner> {
  const name = parseVerifierKey(sha256Bytes, vkey)?.name ?? '';
  const signer = await readSigner(file, name);
  if (signer === undefined) throw new StartupError([`${file} does not exist: mandate witness init makes it.`]);
  if (formatVerifierKey(signer.key) === vkey) return signer;
  throw new StartupError([`${file} holds another key than the one that ${state} was made for.`]);
}
