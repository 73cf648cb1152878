/** `mandate keys show` (specification "Configuration rules"; supplement "How it runs"). */

import { flag, textValue } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { renderKeys, type ShownKey } from '../../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { writeOutput } from '../../../adapters/cli/standard-output.ts';
import { canSign, type PublicHalf, publicPem, thumbprintOf } from '../../../adapters/jose/signing-key.ts';
import { type ConfiguredKey, configuredSigningKeys } from '../../files/signing.ts';
import { processSettings, runReport, validSection } from '../run-command.ts';
import { keyNamed } from './named-keys.ts';

interface ShowRequest {
  readonly as: 'words' | 'json' | 'pem';
  /** The only key that `pem` prints. */
  readonly kid: string | undefined;
}

export function showCommand(run = keysShow): Command {
  return command({
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
    },
    options: (parser) =>
      parser
        .option('json', { ...flag, describe: 'Print only the published key set (RFC 7517)' })
        .option('pem', { ...flag, describe: 'Print only the published keys in PEM (SPKI), the one that signs first' })
        .option('kid', { ...textValue('--kid'), describe: 'With --pem, print only the key of this name' })
        .check(({ json, pem, kid }) => {
          if (json && pem) throw new Error('--json and --pem exclude each other.');
          if (kid !== undefined && !pem) throw new Error('--kid needs --pem.');
          return true;
        }),
    run: ({ json, pem, kid }, settings) => run({ as: pem ? 'pem' : json ? 'json' : 'words', kid }, settings),
  });
}

/** Shows the public half of every configured key. */
export async function keysShow({ as, kid }: ShowRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    const settings = validSection(processSettings(overrides), 'Service:Signing');
    const { keys, signingKeys } = await configuredSigningKeys(settings);
    if (as === 'pem') {
      const named = kid === undefined ? keys : [keyNamed(keys, kid)];
      // HAProxy reads only the first key of a file.
      const isFormer = ({ key }: ConfiguredKey) => Number(key.keyId !== signingKeys.checkpoints.kid);
      const ordered = named.toSorted((one, other) => isFormer(one) - isFormer(other));
      await writeOutput(ordered.map(({ key }) => publicPem(key)).join(''));
      return exitCode.done;
    }
    const shown = keys.map(async ({ choice, key }) => ({
      kid: key.keyId,
      thumbprint: await thumbprintOf(key),
      setting: choice.setting,
      role: roleOf(key, signingKeys.checkpoints.kid),
    }));
    process.stdout.write(renderKeys(await Promise.all(shown), signingKeys.published(), as === 'json'));
    return exitCode.done;
  });
}

function roleOf(key: PublicHalf, activeKid: string): ShownKey['role'] {
  if (key.keyId === activeKid) return 'signs';
  return canSign(key) ? 'published' : 'public_half';
}
