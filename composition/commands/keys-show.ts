import type { ShowRequest } from '../../adapters/cli/commands/keys.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { renderKeys } from '../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { thumbprintOf } from '../../adapters/jose/new-signing-key.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { runCommand, settingSources, validSettings } from './run-command.ts';

/** Shows the public half of every configured key. */
export async function keysShow({ json }: ShowRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async () => {
      const settings = validSettings(readSettingsSection(settingSources(overrides), 'Service:Signing'), undefined);
      const { keys, signingKeys } = await configuredSigningKeys(settings);
      const shown = keys.map(async ({ choice, key }) => ({
        kid: key.keyId,
        thumbprint: await thumbprintOf(key),
        setting: choice.setting,
        signs: key.keyId === signingKeys.checkpoints.kid,
      }));
      process.stdout.write(renderKeys(await Promise.all(shown), signingKeys.published(), json));
      return exitCode.done;
    },
    { log: process.stderr },
  );
}
