/**
 * Settings of which only some combinations exist, as the combination that was chosen. The rules have let nothing else
 * through, so whatever does not fit here is a fault of this program and not of the settings.
 */

import type { Secret } from '../../domain/secret.ts';
import type { SettingError } from './setting-error.ts';
import type { Settings, SettingsSection } from './settings.ts';

export type DatabaseChoice =
  | {
      readonly provider: 'postgres';
      /** A libpq URI of the role that serves. */
      readonly connectionString: Secret;
      /** A libpq URI of the role that owns the schema; the same where none was named. */
      readonly migrationConnectionString: Secret;
    }
  | { readonly provider: 'sqlite'; readonly path: string };

export function chosenDatabase(settings: SettingsSection<'Service:Database'>): DatabaseChoice {
  if (settings['Service:Database:Provider'] === 'sqlite') {
    return { provider: 'sqlite', path: present(settings['Service:Database:Path']) };
  }
  const connectionString = present(settings['Service:Database:ConnectionString']);
  const migrationConnectionString = settings['Service:Database:MigrationConnectionString'] ?? connectionString;
  return { provider: 'postgres', connectionString, migrationConnectionString };
}

export type UpstreamChoice =
  | { readonly kind: 'issuer'; readonly issuer: string }
  | { readonly kind: 'metadata'; readonly url: string };

/** Where the identity provider's discovery document is. */
export function chosenUpstream(
  settings: Pick<Settings, 'Service:UpstreamIdp:Issuer' | 'Service:UpstreamIdp:MetadataUrl'>,
): UpstreamChoice {
  const issuer = settings['Service:UpstreamIdp:Issuer'];
  if (issuer !== undefined) return { kind: 'issuer', issuer };
  return { kind: 'metadata', url: present(settings['Service:UpstreamIdp:MetadataUrl']) };
}

export type SponsorCheckChoice =
  | {
      readonly mode: 'poll';
      readonly usersUrl: string;
      readonly tokenUrl: string;
      readonly clientId: string;
      /** Seconds. */
      readonly cacheTtl: number;
    }
  | { readonly mode: 'signals' };

export function chosenSponsorCheck(settings: SettingsSection<'Service:UpstreamIdp'>): SponsorCheckChoice {
  if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'signals') return { mode: 'signals' };
  return {
    mode: 'poll',
    usersUrl: present(settings['Service:UpstreamIdp:SponsorCheck:UsersUrl']),
    tokenUrl: present(settings['Service:UpstreamIdp:SponsorCheck:TokenUrl']),
    clientId: present(settings['Service:UpstreamIdp:SponsorCheck:ClientId']),
    cacheTtl: settings['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
  };
}

export interface SinkChoice {
  readonly url: string;
  /** Only where the URL is an https one. */
  readonly bearerToken: Secret | undefined;
}

/** Where a copy of every record goes; `undefined` where nowhere. */
export function chosenSink(
  settings: Pick<Settings, 'Service:Audit:Sink:Url' | 'Service:Audit:Sink:BearerToken'>,
): SinkChoice | undefined {
  const url = settings['Service:Audit:Sink:Url'];
  return url === undefined ? undefined : { url, bearerToken: settings['Service:Audit:Sink:BearerToken'] };
}

export interface ProvisioningChoice {
  /** The one in use, then the one before, where it is still accepted. */
  readonly credentials: readonly Secret[];
  readonly person: 'externalId' | 'userName';
  readonly maxUsers: number;
}

/** `undefined` where nobody provisions users. */
export function chosenProvisioning(settings: SettingsSection<'Service:Scim'>): ProvisioningChoice | undefined {
  const current = settings['Service:Scim:BearerToken'];
  const previous = settings['Service:Scim:PreviousBearerToken'];
  if (current === undefined) return undefined;
  return {
    credentials: previous === undefined ? [current] : [current, previous],
    person: settings['Service:Scim:SponsorKeyAttribute'],
    maxUsers: settings['Service:Scim:MaxUsers'],
  };
}

export interface TransmitterChoice {
  readonly issuer: string;
  readonly audience: string;
  /** The one in use, then the one before, where it is still accepted. */
  readonly credentials: readonly Secret[];
}

/** Who pushes security events; `undefined` where nobody does. */
export function chosenTransmitter(settings: SettingsSection<'Service:Ssf'>): TransmitterChoice | undefined {
  const issuer = settings['Service:Ssf:Issuer'];
  if (issuer === undefined) return undefined;
  const current = present(settings['Service:Ssf:BearerToken']);
  const previous = settings['Service:Ssf:PreviousBearerToken'];
  return {
    issuer,
    audience: present(settings['Service:Ssf:Audience']),
    credentials: previous === undefined ? [current] : [current, previous],
  };
}

export interface SigningKeyChoice {
  /** N in `Service:Signing:Keys:N`. */
  readonly index: number;
  /** Where its PEM text comes from. */
  readonly source: { readonly kind: 'path'; readonly path: string } | { readonly kind: 'pem'; readonly pem: Secret };
  /** Its thumbprint names it where this is undefined. */
  readonly kid: string | undefined;
  /** The setting to name when the key turns out to be unusable. */
  readonly setting: string;
}

/** In the order of their numbers; empty on a development host that is to make a key up. */
export function chosenSigningKeys(settings: Pick<Settings, 'Service:Signing:Keys'>): readonly SigningKeyChoice[] {
  return settings['Service:Signing:Keys'].map((key): SigningKeyChoice => {
    const setting = `Service:Signing:Keys:${key.index}`;
    return key.Pem === undefined
      ? {
          index: key.index,
          source: { kind: 'path', path: present(key.Path) },
          kid: key.Kid,
          setting: `${setting}:Path`,
        }
      : { index: key.index, source: { kind: 'pem', pem: key.Pem }, kid: key.Kid, setting: `${setting}:Pem` };
  });
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TypeError('A setting that the rules require is missing.');
  return value;
}

/**
 * Whether the setting for the active key names a key. Asked by the rules where every key's name was configured, and again by the start-up once all keys are loaded and
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
    problem: 'does not name a signing key',
    accepted: 'the Kid of one of Service:Signing:Keys, or the RFC 7638 thumbprint of one that has no Kid',
  };
}
