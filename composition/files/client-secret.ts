/** The secrets of the clients at the identity provider with which people and operators sign in. */

import { KeyFileUnusable, readSecretFile } from '../../adapters/platform/key-file.ts';
import { Secret } from '../../domain/secret.ts';
import { readUtf8 } from '../../domain/tokens/strict-utf8.ts';
import type { Settings } from '../settings/settings.ts';
import { describeSettingError, StartupError } from '../settings/startup-error.ts';

/** The settings that name a file with a client's secret. */
export const CLIENT_SECRETS = [
  'Service:Me:ClientSecret:Path',
  'Service:Authorize:ClientSecret:Path',
  'Service:Operators:ClientSecret:Path',
] as const;

/** @throws StartupError if the file has no secret */
export async function loadClientSecret(
  settings: Settings,
  key: (typeof CLIENT_SECRETS)[number],
): Promise<Secret | undefined> {
  const path = settings[key];
  if (path === undefined) return undefined;
  const refused = (problem: string) =>
    new StartupError([describeSettingError({ key, problem, accepted: 'a file that holds only the secret' })]);
  try {
    const bytes = await readSecretFile(path);
    if (bytes === undefined) throw refused('names a file that does not exist');
    const text = readUtf8(bytes)?.replace(/\r?\n$/, '');
    if (text === undefined) throw refused('names a file that is not UTF-8');
    if (text === '' || /\s/.test(text)) throw refused('names a file that holds no secret, or white space in it');
    return new Secret(text);
  } catch (error) {
    throw error instanceof KeyFileUnusable ? refused(`names a file that ${error.problem}`) : error;
  }
}
