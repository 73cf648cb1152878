/** Whether the setting for the active key names a key. */

import type { SettingError } from './setting-error.ts';
import type { Settings } from './settings.ts';

/**
 * Asked by the rules where every key's name was configured, and again by the start-up once all keys are loaded and
 * those without a name have their thumbprint.
 *
 * @param kids the names of all signing keys
 */
export function unusableActiveKid(
  settings: Pick<Settings, 'Service:Signing:ActiveKid'>,
  kids: readonly (string | undefined)[],
): SettingError | undefined {
  const active = settings['Service:Signing:ActiveKid'];
  if (active === undefined || kids.includes(active)) return undefined;
  return {
    key: 'Service:Signing:ActiveKid',
    problem: 'names none of the signing keys',
    accepted: 'the Kid of one of Service:Signing:Keys, or the RFC 7638 thumbprint of one that has no Kid',
  };
}
