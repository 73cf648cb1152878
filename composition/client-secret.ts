/** The secret of the page's client at the identity provider. */

import { KeyFileUnusable, readKeyFile } from '../adapters/platform/key-file.ts';
import { Secret } from '../domain/secret.ts';
import type { Settings } from './settings/settings.ts';
import { describeSettingError, StartupError } from './startup-error.ts';

const SETTING = 'Service:Me:ClientSecret:Path';

/** @throws StartupError if the file has no secret */
export async function loadClientSecret(settings: Settings): Promise<Secret | undefined> {
  const path = settings[SETTING];
  if (path === undefined) return undefined;
  const refused = (problem: string) =>
    new StartupError([describeSettingError({ key: SETTING, problem, accepted: 'a file that holds only the secret' })]);
  try {
    const text = (await readKeyFile(path))?.replace(/\r?\n$/, '');
    if (text === undefined) throw refused('names a file that does not exist');
    if (text === '' || /\s/.test(text)) throw refused('names a file that holds no secret, or white space in it');
    return new Secret(text);
  } catch (error) {
    throw error instanceof KeyFileUnusable ? refused(`names a file that ${error.problem}`) : error;
  }
}
