/**
 * Settings of which only some combinations are valid, as discriminated unions. The rules have already refused all other
 * combinations, so a mismatch here is a fault of this program.
 */

import type { ServiceClient } from '../../adapters/identity-provider/service-token.ts';
import type { AskingResource } from '../../adapters/jose/approval-keys.ts';
import type { VerifierKey } from '../../domain/log/verifier-key.ts';
import type { Secret } from '../../domain/secret.ts';
import { DEFAULT_LIST_MAX_AGE_SECONDS } from '../../domain/tasks/status-list.ts';
import type { Settings, SettingsSection } from './settings.ts';

export type DatabaseChoice =
  | {
      readonly provider: 'postgres';
      /** A libpq URI of the serving role. */
      readonly connectionString: Secret;
      /** A libpq URI of the role that owns the schema; by default that of the serving role. */
      readonly migrationConnectionString: Secret;
    }
  | { readonly provider: 'sqlite'; readonly path: string };

export function databaseChoice(settings: SettingsSection<'Service:Database'>): DatabaseChoice {
  if (settings['Service:Database:Provider'] === 'sqlite') {
    return { provider: 'sqlite', path: present(settings['Service:Database:Path']) };
  }
  const connectionString = present(settings['Service:Database:ConnectionString']);
  const migrationConnectionString = settings['Service:Database:MigrationConnectionString'] ?? connectionString;
  return { provider: 'postgres', connectionString, migrationConnectionString };
}

type UpstreamChoice =
  | { readonly kind: 'issuer'; readonly issuer: string }
  | { readonly kind: 'metadata_url'; readonly url: string };

/** The location of the identity provider's discovery document. */
export function upstreamChoice(
  settings: Pick<Settings, 'Service:UpstreamIdp:Issuer' | 'Service:UpstreamIdp:MetadataUrl'>,
): UpstreamChoice {
  const issuer = settings['Service:UpstreamIdp:Issuer'];
  if (issuer !== undefined) return { kind: 'issuer', issuer };
  return { kind: 'metadata_url', url: present(settings['Service:UpstreamIdp:MetadataUrl']) };
}

export type SponsorCheckChoice =
  | {
      readonly mode: 'poll';
      readonly usersUrl: string;
      /** How the service gets access to the users. */
      readonly access: ServiceClient | { readonly bearerToken: Secret };
      /** Seconds. */
      readonly cacheTtl: number;
    }
  | { readonly mode: 'signals' };

export function sponsorCheckChoice(settings: SettingsSection<'Service:UpstreamIdp'>): SponsorCheckChoice {
  if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'signals') return { mode: 'signals' };
  const bearerToken = settings['Service:UpstreamIdp:SponsorCheck:BearerToken'];
  return {
    mode: 'poll',
    usersUrl: present(settings['Service:UpstreamIdp:SponsorCheck:UsersUrl']),
    access: bearerToken === undefined ? serviceClient(settings) : { bearerToken },
    cacheTtl: settings['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
  };
}

function serviceClient(settings: SettingsSection<'Service:UpstreamIdp'>): ServiceClient {
  return {
    tokenUrl: present(settings['Service:UpstreamIdp:SponsorCheck:TokenUrl']),
    clientId: present(settings['Service:UpstreamIdp:SponsorCheck:ClientId']),
    scope: settings['Service:UpstreamIdp:SponsorCheck:Scope'],
    assertionAudience: settings['Service:UpstreamIdp:ClientAssertionAudience'],
  };
}

interface SinkChoice {
  readonly url: string;
  /** Only with an https URL. */
  readonly bearerToken: Secret | undefined;
}

interface ApprovalsChoice {
  readonly resources: readonly AskingResource[];
  /** Where notices of approvals are sent; `undefined` if nowhere. */
  readonly notify: SinkChoice | undefined;
}

/** The settings of approvals that exclude each other; `undefined` if they are off. */
export function approvalsChoice(
  settings: Pick<
    Settings,
    | 'Service:Approvals:Enabled'
    | 'Service:Approvals:Resources'
    | 'Service:Approvals:Notify:Url'
    | 'Service:Approvals:Notify:BearerToken'
  >,
): ApprovalsChoice | undefined {
  if (!settings['Service:Approvals:Enabled']) return undefined;
  const url = settings['Service:Approvals:Notify:Url'];
  return {
    resources: settings['Service:Approvals:Resources'].map(({ Audience, JwksUri, Jwks }) => ({
      audience: present(Audience),
      keys: Jwks === undefined ? { kind: 'remote', uri: present(JwksUri) } : { kind: 'inline', jwks: Jwks },
    })),
    notify: url === undefined ? undefined : { url, bearerToken: settings['Service:Approvals:Notify:BearerToken'] },
  };
}

/** The settings of tasks that a person starts; `undefined` without `Service:Authorize:ClientId`. */
export function authorizeChoice(settings: SettingsSection<'Service:Authorize'>) {
  const clientId = settings['Service:Authorize:ClientId'];
  if (clientId === undefined) return undefined;
  return {
    clientId,
    /** Whether a program may redeem a code by PKCE alone. */
    publicClients: settings['Service:Authorize:PublicClients'],
    /** Whether programs may ask for the `client_id` of a registered agent. */
    answersRegistration: settings['Service:Authorize:Registration'] === 'known',
    /** Seconds. */
    requestTtl: settings['Service:Authorize:RequestTtl'],
    /** Seconds. */
    codeTtl: settings['Service:Authorize:CodeTtl'],
    /** Seconds; `undefined` if a sign-in may have any age. */
    maxAuthAge: settings['Service:Authorize:MaxAuthAge'],
  };
}

/** The destination for copies of the records; `undefined` if none is configured. */
export function sinkChoice(
  settings: Pick<Settings, 'Service:Audit:Sink:Url' | 'Service:Audit:Sink:BearerToken'>,
): SinkChoice | undefined {
  const url = settings['Service:Audit:Sink:Url'];
  return url === undefined ? undefined : { url, bearerToken: settings['Service:Audit:Sink:BearerToken'] };
}

/** The settings of SCIM; `undefined` if SCIM is not configured. */
export function provisioningChoice(settings: SettingsSection<'Service:Scim'>) {
  const current = settings['Service:Scim:BearerToken'];
  if (current === undefined) return undefined;
  return {
    credentials: acceptedTokens(current, settings['Service:Scim:PreviousBearerToken']),
    person: settings['Service:Scim:SponsorKeyAttribute'],
    maxUsers: settings['Service:Scim:MaxUsers'],
  };
}

/** The current bearer token, then the previous one while it is still accepted. */
function acceptedTokens(current: Secret, previous: Secret | undefined): readonly Secret[] {
  return previous === undefined ? [current] : [current, previous];
}

/** The transmitter of security events; `undefined` if none is configured. */
export function transmitterChoice(settings: SettingsSection<'Service:Ssf'>) {
  const issuer = settings['Service:Ssf:Issuer'];
  if (issuer === undefined) return undefined;
  return {
    issuer,
    audience: present(settings['Service:Ssf:Audience']),
    credentials: acceptedTokens(
      present(settings['Service:Ssf:BearerToken']),
      settings['Service:Ssf:PreviousBearerToken'],
    ),
  };
}

/** The settings of operators with names; `undefined` if the admin key is the only way in. */
export function operatorsChoice(
  settings: SettingsSection<'Service:Operators'> & Pick<Settings, 'Service:UpstreamIdp:Issuer'>,
) {
  const audience = settings['Service:Operators:Audience'];
  if (audience === undefined && settings['Service:Operators:ClientId'] === undefined) return undefined;
  const issuer = settings['Service:Operators:Issuer'];
  const roles = {
    viewer: settings['Service:Operators:Roles:Viewer'],
    auditor: settings['Service:Operators:Roles:Auditor'],
    registrar: settings['Service:Operators:Roles:Registrar'],
    responder: settings['Service:Operators:Roles:Responder'],
  };
  return {
    /** The required `aud`; `undefined` if operators cannot use access tokens. */
    audience,
    roles,
    roleClaim: settings['Service:Operators:RoleClaim'],
    /** `undefined`: the upstream identity provider. */
    issuer: issuer === settings['Service:UpstreamIdp:Issuer'] ? undefined : issuer,
    twoPersons: settings['Service:Operators:TwoPersonUnblock'],
    mayStopEverything: settings['Service:Operators:StopEverything'],
  };
}

export interface SigningKeyChoice {
  /** N in `Service:Signing:Keys:N`. */
  readonly index: number;
  /** The source of its PEM text. */
  readonly source: { readonly kind: 'path'; readonly path: string } | { readonly kind: 'pem'; readonly pem: Secret };
  /** If undefined, the `kid` is the key's thumbprint. */
  readonly kid: string | undefined;
  /** The setting to report if the key is unusable. */
  readonly setting: string;
}

/** In the order of their numbers; empty on a development host that generates a key. */
export function signingKeyChoices(settings: Pick<Settings, 'Service:Signing:Keys'>): readonly SigningKeyChoice[] {
  return settings['Service:Signing:Keys'].map(({ index, Path, Pem, Kid: kid }): SigningKeyChoice => {
    const setting = `Service:Signing:Keys:${index}`;
    if (Pem !== undefined) return { index, kid, source: { kind: 'pem', pem: Pem }, setting: `${setting}:Pem` };
    return { index, kid, source: { kind: 'path', path: present(Path) }, setting: `${setting}:Path` };
  });
}

export interface LogChoice {
  /** The source of the key's PEM text. */
  readonly source: SigningKeyChoice['source'];
  /** The setting to report if the key is unusable. */
  readonly setting: string;
  readonly origin: string;
  readonly isPublic: boolean;
  readonly witnesses: readonly Witness[];
  readonly quorum: number;
  /** Seconds. */
  readonly witnessTimeout: number;
}

export interface Witness {
  readonly url: string;
  readonly key: VerifierKey;
}

/** The transparency log; `undefined` if it is off. */
export function logChoice(settings: SettingsSection<'Service:Audit:Log'>): LogChoice | undefined {
  const [keyPath, keyPem] = [settings['Service:Audit:Log:Key:Path'], settings['Service:Audit:Log:Key:Pem']];
  if (keyPath === undefined && keyPem === undefined) return undefined;
  return {
    source: keyPem === undefined ? { kind: 'path', path: present(keyPath) } : { kind: 'pem', pem: keyPem },
    setting: `Service:Audit:Log:Key:${keyPem === undefined ? 'Path' : 'Pem'}`,
    origin: settings['Service:Audit:Log:Origin'],
    isPublic: settings['Service:Audit:Log:Public'],
    witnesses: settings['Service:Audit:Log:Witnesses'].map(({ Url, VKey }) => ({
      url: present(Url),
      key: present(VKey),
    })),
    quorum: settings['Service:Audit:Log:Quorum'],
    witnessTimeout: settings['Service:Audit:Log:WitnessTimeout'],
  };
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TypeError('A setting that the rules require is missing.');
  return value;
}

/** The settings of the console; `undefined` if it is off. */
export function consoleChoice(
  settings: SettingsSection<'Service:Console'> & Pick<Settings, 'Service:Operators:ClientId'>,
) {
  const port = settings['Service:Console:Port'];
  if (port === undefined) return undefined;
  return {
    port,
    origin: present(settings['Service:Console:Origin']),
    clientId: present(settings['Service:Operators:ClientId']),
  };
}

/** Seconds until a tool server with its default settings refuses an ended task. `undefined` without status lists. */
export function statusListReach(settings: SettingsSection<'Service:StatusLists'>): number | undefined {
  if (!settings['Service:StatusLists:Enabled']) return undefined;
  return settings['Service:StatusLists:Ttl'] + DEFAULT_LIST_MAX_AGE_SECONDS;
}

/** Whether `/me` exists. */
export function isMeOpen(settings: Pick<Settings, 'Service:Me:Audience' | 'Service:Me:ClientId'>): boolean {
  return settings['Service:Me:Audience'] !== undefined || settings['Service:Me:ClientId'] !== undefined;
}
