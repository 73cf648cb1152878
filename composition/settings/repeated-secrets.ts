/**
 * A secret that stands in several settings: whoever is given one of them opens the other as well. No start-up error
 * (specification "Startup errors" has none for it); the start warns of it.
 */

import type { Secret } from '../../domain/secret.ts';
import type { Settings } from './settings.ts';

/** Each is for another party, but for a previous one, which is its successor's; the rules refuse that the two are equal. */
const SECRETS = [
  'Service:Admin:ApiKey',
  'Service:Scim:BearerToken',
  'Service:Scim:PreviousBearerToken',
  'Service:Ssf:BearerToken',
  'Service:Ssf:PreviousBearerToken',
  'Service:Audit:Sink:BearerToken',
] as const satisfies readonly (keyof Settings)[];

export type SecretSetting = (typeof SECRETS)[number];

/** The settings that hold one secret, for each secret that more than one holds. Names only, never a value. */
export function repeatedSecrets(settings: Pick<Settings, SecretSetting>): readonly (readonly SecretSetting[])[] {
  const holders = new Map<string, SecretSetting[]>();
  for (const key of SECRETS) {
    const secret: Secret | undefined = settings[key];
    if (secret !== undefined) holders.set(secret.reveal(), [...(holders.get(secret.reveal()) ?? []), key]);
  }
  return [...holders.values()].filter((keys) => keys.length > 1);
}
