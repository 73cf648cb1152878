/** `mandate keys retire` (specification "Configuration rules"; supplement "How it runs"). */

import { flag, textValue } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { renderRetirement } from '../../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { writeOutput } from '../../../adapters/cli/standard-output.ts';
import { canSign, publicPem, thumbprintOf } from '../../../adapters/jose/signing-key.ts';
import { replaceByPublicHalf } from '../../../adapters/platform/key-file.ts';
import { configuredSigningKeys } from '../../files/signing.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { processSettings, runReport, validSection } from '../run-command.ts';
import { keyNamed, withKeyFile } from './named-keys.ts';

interface RetireRequest {
  /** The name of the key. */
  readonly kid: string;
  readonly json: boolean;
}

export function retireCommand(run = keysRetire): Command {
  return command({
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
    },
    options: (parser) =>
      parser
        .option('kid', {
          ...textValue('--kid'),
          describe: 'The name of the key, as mandate keys show prints it',
          demandOption: true,
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ kid, json }, settings) => run({ kid: kid ?? '', json }, settings),
  });
}

/**
 * Replaces the file of a former key by its public half, in one step: the key still verifies, and cannot sign.
 */
export async function keysRetire(request: RetireRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    const { keys, signingKeys } = await configuredSigningKeys(
      validSection(processSettings(overrides), 'Service:Signing'),
    );
    const { choice, key } = keyNamed(keys, request.kid);
    if (key.keyId === signingKeys.checkpoints.kid) {
      throw new StartupError([
        `${choice.setting} is the key that signs. Rotate first, on every replica: mandate keys rotate.`,
      ]);
    }
    if (!canSign(key)) throw new StartupError([`${choice.setting} holds only the public half already.`]);
    if (choice.source.kind === 'pem') {
      await writeOutput(publicPem(key));
      throw new StartupError([
        `${choice.setting} is a text, not a file. Replace it yourself, on every replica, by the public half, which is on standard output.`,
      ]);
    }
    const { path } = choice.source;
    await withKeyFile(path, () => replaceByPublicHalf(path, publicPem(key)));
    const thumbprint = await thumbprintOf(key);
    const about = { kid: key.keyId, thumbprint, file: path, publicJwk: key.publicJwk };
    process.stdout.write(renderRetirement(about, choice.setting, request.json));
    return exitCode.done;
  });
}
