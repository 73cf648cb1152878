/** `mandate keys generate` (specification "Configuration rules"; supplement "How it runs"). */

import { resolve } from 'node:path';
import { flag, textValue } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { renderNewKey, type SettingLine } from '../../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { newSigningKey, type PublicHalf, thumbprintOf } from '../../../adapters/jose/signing-key.ts';
import { writeKeyFile } from '../../../adapters/platform/key-file.ts';
import { configuredSigningKeys } from '../../files/signing.ts';
import { givenSettings, type SettingSources } from '../../settings/given-settings.ts';
import { readSettingsSection } from '../../settings/read-settings.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { processSettings, runReport } from '../run-command.ts';
import { isUsableKid, plannedNext, withKeyFile } from './named-keys.ts';
import { signingSettings } from './rotation-plan.ts';

const STANDARD_OUTPUT = '-';

interface GenerateRequest {
  /** A path, or `-` for standard output. */
  readonly out: string;
  readonly kid: string | undefined;
  readonly json: boolean;
}

export function generateCommand(run = keysGenerate): Command {
  return command({
    examples: [
      { line: 'keys generate --out /run/secrets/signing-key.pem', meaning: 'A new file that only its owner can read' },
      { line: 'keys generate --out -', meaning: 'The key on standard output, the report on standard error' },
    ],
    exitCodes: {
      [exitCode.done]: 'the key was generated',
      [exitCode.failed]: 'the file could not be written; an existing one is never overwritten',
    },
    options: (parser) =>
      parser
        .option('out', {
          ...textValue('--out'),
          // Without nargs, the parser would read `-` as an option.
          nargs: 1,
          describe: 'The new file, or - for standard output',
          demandOption: true,
        })
        .option('kid', { ...textValue('--kid'), describe: 'The name of the key; by default its RFC 7638 thumbprint' })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ out, kid, json }, settings) => run({ out: out ?? '', kid, json }, settings),
  });
}

/** Generates a signing key in a file or on standard output, and prints its settings. */
export async function keysGenerate(request: GenerateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    if (!isUsableKid(request.kid)) return exitCode.usage;
    const { pem, key } = await newSigningKey(request.kid);
    const file = request.out === STANDARD_OUTPUT ? undefined : resolve(request.out);
    if (file === undefined) process.stdout.write(pem.reveal());
    else await withKeyFile(file, () => writeKeyFile(file, pem));
    const thumbprint = await thumbprintOf(key);
    const added = await settingsToAdd(processSettings(overrides), { key, file, isNamed: request.kid !== undefined });
    const report = renderNewKey({ kid: key.keyId, thumbprint, file, publicJwk: key.publicJwk }, added, request.json);
    // If the key is written to standard output, the report goes to standard error.
    (file === undefined ? process.stderr : process.stdout).write(report);
    return exitCode.done;
  });
}

/** With several keys, ActiveKid is required: it names the key that signs now. */
async function settingsToAdd(
  settings: SettingSources,
  made: { readonly key: PublicHalf; readonly file: string | undefined; readonly isNamed: boolean },
): Promise<readonly SettingLine[]> {
  const planned = plannedNext(made.key, made.file ?? '/path/to/the/file.pem', made.isNamed, settings);
  const isActiveNamed = givenSettings(settings).text('Service:Signing:ActiveKid') !== undefined;
  return signingSettings([planned], isActiveNamed ? undefined : await signingKid(settings));
}

/** The `kid` of the key that signs; `undefined` if there is no key yet, or the settings of the keys are unusable. */
async function signingKid(settings: SettingSources): Promise<string | undefined> {
  const read = readSettingsSection(settings, 'Service:Signing');
  if (read.kind === 'invalid') return undefined;
  try {
    return (await configuredSigningKeys(read.settings)).signingKeys.checkpoints.kid;
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}
