/**
 * Finds a secret that is used in several settings: its holder has access through all of them. This is not a start-up
 * error (specification "Startup errors" has none for it); the start logs a warning.
 */

import type { Secret } from '../../domain/secret.ts';
import type { Settings } from './settings.ts';

/**
 * Each secret is for another party, except a previous one, which is for the party of its successor. The rules refuse
 * two equal ones of these.
 */
const SECRETS = [
  'Service:Admin:ApiKey',
  'Service:Scim:BearerToken',
  'Service:Scim:PreviousBearerToken',
  'Service:Ssf:BearerToken',
  'Service:Ssf:PreviousBearerToken',
  'Service:Audit:Sink:BearerToken',
] as const satisfies readonly (keyof Settings)[];

export type SecretSetting = (typeof SECRETS)[number];

/** For each repeated secret, the settings that have it. Names only, never a value. */
export function repeatedSecrets(settings: Pick<Settings, SecretSetting>): readonly (readonly SecretSetting[])[] {
  const holders = new Map<string, SecretSetting[]>();
  for (const key of SECRETS) {
    const secret: Secret | undefined = settings[key];
    if (secret !== undefined) holders.set(secret.reveal(), [...(holders.get(secret.reveal()) ?? []), key]);
  }
  return [...holders.values()].filter((keys) => keys.length > 1);
}
