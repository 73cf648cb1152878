/** Valid settings that tests change, and readers of the changed settings. */

import { readSettings, type SettingsResult } from '../../../composition/settings/read-settings.ts';
import type { Settings } from '../../../composition/settings/settings.ts';
import { variableOf } from '../../../composition/settings/startup-error.ts';

export type Texts = Readonly<Record<string, string | undefined>>;

export const PEM = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----';

/** Valid settings: mode poll, Postgres, one signing key. */
export const startable: Texts = {
  'Service:Issuer': 'https://mandate.example',
  'Service:UpstreamIdp:Issuer': 'https://idp.example/realms/main',
  'Service:UpstreamIdp:Audience': 'mandate',
  'Service:UpstreamIdp:SponsorCheck:UsersUrl': 'https://idp.example/admin/realms/main/users',
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': 'https://idp.example/realms/main/token',
  'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate-poller',
  'Service:Database:ConnectionString': 'postgresql://mandate:hunter2@db.example/mandate',
  'Service:Signing:Keys:0:Path': '/run/secrets/signing.pem',
};

/** Changes to mode `signals`, which removes the settings of mode `poll`. */
export const signalsMode: Texts = {
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  'Service:UpstreamIdp:SponsorCheck:UsersUrl': undefined,
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': undefined,
  'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
};

export const onSqlite: Texts = {
  'Service:Database:Provider': 'sqlite',
  'Service:Database:ConnectionString': undefined,
  'Service:Database:Path': '/var/lib/mandate.db',
};

/** The client for tasks that people start, and that of the page `/me`. */
export const door: Texts = { 'Service:Me:ClientId': 'page', 'Service:Authorize:ClientId': 'door' };

/** The environment variables of these settings. */
export function environment(texts: Texts): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [variableOf(key), text]));
}

/** Reads the valid settings with these changes. `undefined` removes a setting. */
export function readWith(changes: Texts): SettingsResult<Settings> {
  return readSettings({ environment: environment({ ...startable, ...changes }), overrides: [] });
}

export function validWith(changes: Texts): Settings {
  const result = readWith(changes);
  if (result.kind === 'valid') return result.settings;
  throw new Error(`Expected valid settings: ${JSON.stringify(result.errors)}`);
}

/** Each error as `<key>: <problem>`. */
export function errorsWith(changes: Texts): readonly string[] {
  const result = readWith(changes);
  return result.kind === 'valid' ? [] : result.errors.map(({ key, problem }) => `${key}: ${problem}`);
}
