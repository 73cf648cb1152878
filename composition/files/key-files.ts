/** The settings that name a file with a key or secret. Each key has one use, so each file belongs to one setting. */

import { fileIdentity } from '../../adapters/platform/key-file.ts';
import { logChoice, signingKeyChoices } from '../settings/alternatives.ts';
import type { Settings } from '../settings/settings.ts';
import { describeSettingError, type SettingError } from '../settings/startup-error.ts';
import { CLIENT_SECRETS } from './client-secret.ts';

interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** The reasons, as sentences, if one file is named twice; also through a link. */
export async function sharedKeyFiles(settings: Settings): Promise<readonly string[]> {
  const named = await Promise.all(
    keyFilesIn(settings).map(async ({ setting, path }) => ({ setting, identity: await fileIdentity(path) })),
  );
  return named.flatMap(({ setting, identity }, at) => {
    const other = named.slice(0, at).find((one) => identity !== undefined && one.identity === identity);
    return other === undefined ? [] : [describeSettingError(sharedFile(setting, other.setting))];
  });
}

function keyFilesIn(settings: Settings): readonly NamedFile[] {
  const log = logChoice(settings);
  return [
    ...signingKeyChoices(settings).flatMap(fileOf),
    ...(log === undefined ? [] : fileOf(log)),
    ...CLIENT_SECRETS.flatMap((setting): readonly NamedFile[] => {
      const path = settings[setting];
      return path === undefined ? [] : [{ setting, path }];
    }),
  ];
}

function fileOf({
  source,
  setting,
}: Pick<ReturnType<typeof signingKeyChoices>[number], 'source' | 'setting'>): readonly NamedFile[] {
  return source.kind === 'path' ? [{ setting, path: source.path }] : [];
}

function sharedFile(key: string, other: string): SettingError {
  return { key, problem: `names the same file as ${other}`, accepted: 'a file that no other setting names' };
}
