/** The signing keys for the doctor: loaded once, whoever asks. */

import { exposureOf } from '../../adapters/key-files/key-file.ts';
import type { KeyFile, LoadedKeys } from '../../application/doctor/signing-examinations.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import { chosenSigningKeys } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';

export interface ConfiguredSigning {
  loaded(): Promise<LoadedKeys>;
  files(): Promise<readonly KeyFile[]>;
  /** The names of all of them; `undefined` while they cannot be loaded. */
  kids(): Promise<readonly string[] | undefined>;
  /** `undefined` while they cannot be loaded. */
  signingKeys(): Promise<SigningKeys | undefined>;
}

export function configuredSigning(
  settings: SettingsSection<'Service:Signing'>,
  isDevelopment: boolean,
): ConfiguredSigning {
  const choices = chosenSigningKeys(settings);
  const loading = load();

  async function load(): Promise<{ readonly loaded: LoadedKeys; readonly signingKeys?: SigningKeys }> {
    if (choices.length === 0) {
      return {
        loaded: isDevelopment ? { kind: 'ephemeral' } : { kind: 'unusable', reasons: ['There is no signing key.'] },
      };
    }
    try {
      const { keys, signingKeys } = await configuredSigningKeys(settings);
      const kids = keys.map(({ key }) => key.keyId);
      return { loaded: { kind: 'loaded', kids, active: signingKeys.checkpoints.kid }, signingKeys };
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return { loaded: { kind: 'unusable', reasons: error.reasons } };
    }
  }

  return {
    loaded: async () => (await loading).loaded,
    signingKeys: async () => (await loading).signingKeys,
    async kids() {
      const { loaded } = await loading;
      return loaded.kind === 'loaded' ? loaded.kids : undefined;
    },
    async files() {
      const looked = choices.map(async ({ source, setting }) => {
        const exposure = source.kind === 'path' ? await exposureOf(source.path) : undefined;
        return exposure === undefined ? [] : [{ setting, exposure }];
      });
      return (await Promise.all(looked)).flat();
    },
  };
}
