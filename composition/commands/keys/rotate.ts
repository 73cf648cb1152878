/** `mandate keys rotate` (specification "Configuration rules"; supplement "How it runs"). */

import { resolve } from 'node:path';
import { flag, texts, textValue } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { renderRotation } from '../../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import {
  canSign,
  newSigningKey,
  type PublicHalf,
  readSigningKey,
  thumbprintOf,
} from '../../../adapters/jose/signing-key.ts';
import { askReplica } from '../../../adapters/outbound/replica-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { readKeyFile, writeKeyFile } from '../../../adapters/platform/key-file.ts';
import { type ConfiguredKey, configuredSigningKeys, isSameKey } from '../../files/signing.ts';
import { givenSettings } from '../../settings/given-settings.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { processSettings, runReport, validSection } from '../run-command.ts';
import { isUsableKid, plannedNext, withKeyFile } from './named-keys.ts';
import { type PlannedKey, rotationPlan } from './rotation-plan.ts';
import { signingClients } from './signing-clients.ts';

/** The exit code if the next step of a rotation must wait for a replica. */
const NOT_PUBLISHED = 3;

interface RotateRequest {
  /** The file of the next key, which is generated if the file does not exist. */
  readonly next: string;
  readonly kid: string | undefined;
  /** The addresses of replicas. */
  readonly servers: readonly string[];
  readonly json: boolean;
}

export function rotateCommand(run = keysRotate): Command {
  return command({
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
      [NOT_PUBLISHED]: 'a named replica does not publish the configured keys, or does not answer',
    },
    options: (parser) =>
      parser
        .option('next', {
          ...textValue('--next'),
          describe: 'The file of the next key, generated if it does not exist',
          demandOption: true,
        })
        .option('kid', {
          ...textValue('--kid'),
          describe: 'The name of the next key; by default its RFC 7638 thumbprint',
        })
        .option('server', {
          ...texts,
          describe: 'A replica to ask for its published keys; once for each, bypassing any load balancer',
          coerce: (given: unknown) => (Array.isArray(given) ? given.map((one) => readReplicaAddress(String(one))) : []),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ next, kid, server, json }, settings) =>
      run({ next: next ?? '', kid, servers: server ?? [], json }, settings),
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

/**
 * Prints the settings of each step of a key rotation, and which step is next by the current settings. The command
 * itself only generates the next key, once: the operator changes the settings, on every replica.
 */
export async function keysRotate(request: RotateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    if (!isUsableKid(request.kid)) return exitCode.usage;
    const settings = processSettings(overrides);
    const { keys, signingKeys } = await configuredSigningKeys(validSection(settings, 'Service:Signing'));
    const maxTokenTtl = validSection(settings, 'Service:Agents')['Service:Agents:MaxTokenTtl'];
    const file = resolve(request.next);
    const { key, made, configured } = await nextKey(file, request.kid, keys);
    const planned = configured ?? plannedNext(key, file, request.kid !== undefined, settings);
    const clients = signingClients(givenSettings(settings));
    const plan = rotationPlan(keys.map(plannedKey), signingKeys.checkpoints.kid, planned, maxTokenTtl, clients);
    const publicKeys = keys.map((configuredKey) => configuredKey.key.publicJwk);
    const network = httpNetwork();
    const replicas = await Promise.all(request.servers.map((server) => askReplica(network, server, publicKeys)));
    const thumbprint = await thumbprintOf(key);
    const about = { kid: planned.kid, thumbprint, file, publicJwk: key.publicJwk };
    process.stdout.write(renderRotation({ key: about, made, ...plan, replicas }, request.json));
    const reached = replicas.every(
      ({ published, missing, surplus }) => !('problem' in published) && missing.length + surplus.length === 0,
    );
    return reached ? exitCode.done : NOT_PUBLISHED;
  });
}

interface NextKey {
  readonly key: PublicHalf;
  readonly made: boolean;
  /** The next key's settings; `undefined` if it is not configured yet. */
  readonly configured: PlannedKey | undefined;
}

/** @throws StartupError if the file exists without a key, or cannot be written */
async function nextKey(file: string, kid: string | undefined, keys: readonly ConfiguredKey[]): Promise<NextKey> {
  const text = await withKeyFile(file, readKeyFile);
  if (text === undefined) {
    const { pem, key } = await newSigningKey(kid);
    await withKeyFile(file, () => writeKeyFile(file, pem));
    return { key, made: true, configured: undefined };
  }
  const read = await readSigningKey(text, kid);
  if (read.kind === 'unusable') throw new StartupError([`${file} ${read.problem}.`]);
  if (read.kind === 'public_half') {
    throw new StartupError([`${file} holds only the public half of a key, which cannot become the key that signs.`]);
  }
  const same = keys.find(({ key }) => isSameKey(key, read.key));
  if (same === undefined) return { key: read.key, made: false, configured: undefined };
  if (kid !== undefined && same.key.keyId !== kid) {
    throw new StartupError([`${file} holds a key that is configured under another name than --kid says.`]);
  }
  return { key: same.key, made: false, configured: plannedKey(same) };
}

function plannedKey({ choice, key }: ConfiguredKey): PlannedKey {
  const { index, source, kid } = choice;
  return { index, kid: key.keyId, source, isNamed: kid !== undefined, canSign: canSign(key) };
}
