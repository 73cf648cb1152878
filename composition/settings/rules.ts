/**
 * The rules between settings (specification "Configuration rules", startup errors). Each rule reports all its errors,
 * so that one start shows all of them.
 */

import { isLoopback, isSameHost, travelsInTheClear } from '../../domain/address.ts';
import { MAX_WITNESSES } from '../../domain/log/note.ts';
import { encodeBase64, isTrustableName } from '../../domain/log/verifier-key.ts';
import { permitsPerSecond } from '../../domain/rate.ts';
import type { Secret } from '../../domain/secret.ts';
import { audiencesThatDiffer } from './audiences.ts';
import { isDevelopmentHost, type ListKey, type MapKey, type SettingKey, type Settings } from './settings.ts';

export interface Findings {
  /** Whether the operator set it, to any value. */
  given(key: SettingKey): boolean;
  /** The numbers of a list's items that have any setting, in ascending order. */
  numbers(list: ListKey): readonly number[];
  /** The given names of a setting whose key ends with `<name>`, in ascending order. */
  names(map: MapKey): readonly string[];

  /** @param problem completes a sentence that begins with the key; neither it nor `accepted` contains a value */
  wrong(key: SettingKey, problem: string, accepted: string): void;
  /** Reports a missing required setting. @param when as in "while … is …" */
  expect(key: SettingKey, when: string): void;
  /** Reports a setting that must not be set. */
  refuse(key: SettingKey, when: string): void;
}

interface Rule {
  /** The settings that the rule compares: if one is unreadable, the rule is skipped. */
  readonly about: readonly (keyof Settings)[];
  check(settings: Settings, findings: Findings): void;
}

function rule<Key extends keyof Settings>(
  about: readonly Key[],
  check: (settings: Pick<Settings, Key>, findings: Findings) => void,
): Rule {
  return { about, check };
}

const BY_CLIENT = ['Service:UpstreamIdp:SponsorCheck:ClientId', 'Service:UpstreamIdp:SponsorCheck:Scope'] as const;
const ONLY_UNDER_POLL = [
  'Service:UpstreamIdp:SponsorCheck:UsersUrl',
  'Service:UpstreamIdp:SponsorCheck:TokenUrl',
  ...BY_CLIENT,
  'Service:UpstreamIdp:SponsorCheck:BearerToken',
  'Service:UpstreamIdp:SponsorCheck:CacheTtl',
] as const;
const OPERATOR_ROLES = [
  'Service:Operators:Roles:Viewer',
  'Service:Operators:Roles:Auditor',
  'Service:Operators:Roles:Registrar',
  'Service:Operators:Roles:Responder',
] as const;
const OPERATORS_NEED_A_WAY_IN = [
  'Service:Operators:Issuer',
  'Service:Operators:RoleClaim',
  ...OPERATOR_ROLES,
  'Service:Operators:StopEverything',
  'Service:Operators:TwoPersonUnblock',
] as const;
const TRANSMITTER_NEEDS = ['Service:Ssf:Audience', 'Service:Ssf:BearerToken'] as const;

/** Of the request to the provider (OpenID Connect Core 1.0 §3.1.2.1 and §6, RFC 7636, RFC 7521 §4.2): the service sets them, or none may. */
const OWN_PARAMETERS: readonly string[] = [
  ...['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'],
  ...['response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'prompt', 'max_age', 'claims', 'request', 'request_uri'],
];
const PROVIDER_PARAMETERS = 'Service:Authorize:ProviderParameters';

const LOG_SETTINGS = [
  'Service:Audit:Log:Origin',
  'Service:Audit:Log:Public',
  'Service:Audit:Log:Quorum',
  'Service:Audit:Log:WitnessTimeout',
] as const;

export const rules: readonly Rule[] = [
  issuerOutside(['admin', 'agents']),
  rule([], (_settings, findings) => {
    exactlyOne(findings, 'Service:UpstreamIdp:Issuer', 'Service:UpstreamIdp:MetadataUrl');
  }),
  whileIs('Service:UpstreamIdp:SponsorCheck:Mode', 'poll', { needs: ['Service:UpstreamIdp:SponsorCheck:UsersUrl'] }),
  whileIs('Service:UpstreamIdp:SponsorCheck:Mode', 'signals', { refuses: ONLY_UNDER_POLL }),
  rule(['Service:UpstreamIdp:SponsorCheck:Mode'], (settings, findings) => {
    if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] !== 'poll') return;
    const bearerToken = 'Service:UpstreamIdp:SponsorCheck:BearerToken';
    exactlyOne(findings, 'Service:UpstreamIdp:SponsorCheck:TokenUrl', bearerToken);
    if (findings.given(bearerToken)) {
      for (const key of BY_CLIENT) findings.refuse(key, `while ${bearerToken} is set`);
    } else {
      findings.expect(
        'Service:UpstreamIdp:SponsorCheck:ClientId',
        'while Service:UpstreamIdp:SponsorCheck:Mode is poll',
      );
    }
  }),
  rule(
    [
      ...(['Service:UpstreamIdp:SponsorCheck:Mode', 'Service:UpstreamIdp:SponsorCheck:CacheTtl'] as const),
      'Service:Tokens:DefaultTokenTtl',
    ],
    (settings, findings) => {
      // A cached answer about a person must not outlive the tokens. Under `signals` no answer is cached.
      if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'signals') return;
      atMost(settings, findings, 'Service:UpstreamIdp:SponsorCheck:CacheTtl', 'Service:Tokens:DefaultTokenTtl');
    },
  ),
  whileIs('Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut', true, {
    needs: ['Service:UpstreamIdp:BackchannelLogout:Audience'],
  }),
  whileIs('Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession', true, {
    needs: ['Service:UpstreamIdp:BackchannelLogout:Audience'],
  }),
  whileIs('Service:Database:Provider', 'postgres', {
    needs: ['Service:Database:ConnectionString'],
    refuses: ['Service:Database:Path'],
  }),
  whileIs('Service:Database:Provider', 'sqlite', {
    needs: ['Service:Database:Path'],
    refuses: [
      'Service:Database:ConnectionString',
      'Service:Database:MigrationConnectionString',
      'Service:Audit:Partitions:MonthsAhead',
      'Service:Audit:Retention',
    ],
  }),
  rule(['Service:Database:Path'], (settings, { wrong }) => {
    if (settings['Service:Database:Path'] !== ':memory:') return;
    wrong(
      'Service:Database:Path',
      'is SQLite in memory, which each command would have for itself',
      'the path of a file',
    );
  }),
  rule(['Service:Audit:Sink:Url', 'Service:Audit:Sink:BearerToken'], (settings, { wrong }) => {
    const isEncrypted = /^https:/i.test(settings['Service:Audit:Sink:Url'] ?? '');
    if (settings['Service:Audit:Sink:BearerToken'] === undefined || isEncrypted) return;
    const problem = 'is set while Service:Audit:Sink:Url is not an https URL';
    wrong('Service:Audit:Sink:BearerToken', problem, 'an https URL beside it, or leaving it unset');
  }),
  whileUnset('Service:Scim:BearerToken', [
    'Service:Scim:PreviousBearerToken',
    'Service:Scim:SponsorKeyAttribute',
    'Service:Scim:MaxUsers',
  ]),
  credentialsDiffer('Service:Scim'),
  whileSet('Service:Ssf:Issuer', TRANSMITTER_NEEDS),
  whileUnset('Service:Ssf:Issuer', [...TRANSMITTER_NEEDS, 'Service:Ssf:PreviousBearerToken']),
  credentialsDiffer('Service:Ssf'),
  rule([], (_settings, findings) => {
    for (const number of findings.numbers('Service:Signing:Keys')) {
      exactlyOne(findings, `Service:Signing:Keys:${number}:Path`, `Service:Signing:Keys:${number}:Pem`);
    }
  }),
  rule(['NODE_ENV'], (settings, { numbers, wrong }) => {
    if (numbers('Service:Signing:Keys').length > 0 || isDevelopmentHost(settings)) return;
    const problem = 'is not set, and neither is any other signing key';
    const accepted = 'a key by Path or by Pem; only a development host (NODE_ENV is development) makes one up';
    wrong('Service:Signing:Keys:0:Path', problem, accepted);
  }),
  rule([], (_settings, { numbers, expect }) => {
    if (numbers('Service:Signing:Keys').length < 2) return;
    expect('Service:Signing:ActiveKid', 'while there is more than one signing key');
  }),
  rule(['Service:Signing:Keys'], (settings, { wrong }) => {
    for (const { index } of repeated(settings['Service:Signing:Keys'], ({ Kid }) => Kid)) {
      wrong(`Service:Signing:Keys:${index}:Kid`, 'names another signing key as well', 'another name');
    }
  }),
  rule(['Service:Signing:Keys', 'Service:Signing:ActiveKid'], (settings, { wrong }) => {
    const active = settings['Service:Signing:ActiveKid'];
    const kids = settings['Service:Signing:Keys'].map((key) => key.Kid);
    // The `kid` of a key without `Kid` is its thumbprint, which is known only after loading. The start checks it then.
    if (active === undefined || kids.includes(undefined) || kids.includes(active)) return;
    const accepted = 'the Kid of one of Service:Signing:Keys, or the RFC 7638 thumbprint of one that has no Kid';
    wrong('Service:Signing:ActiveKid', 'does not name a signing key', accepted);
  }),
  whileUnset('Service:Me:ClientId', [
    'Service:Me:ClientSecret:Path',
    'Service:Me:SessionTtl',
    'Service:Me:AskForName',
    'Service:Me:ScopeDescriptions',
  ]),
  rule([], (_settings, findings) => {
    if (isMeOpen(findings)) return;
    findings.refuse('Service:Me:Pause', 'while neither Service:Me:Audience nor Service:Me:ClientId is');
  }),
  whileSet('Service:Authorize:ClientId', ['Service:Me:ClientId']),
  whileUnset('Service:Authorize:ClientId', [
    'Service:Authorize:ClientSecret:Path',
    'Service:Authorize:ScopePrefix',
    'Service:Authorize:PublicClients',
    'Service:Authorize:Registration',
    'Service:Authorize:RequestTtl',
    'Service:Authorize:CodeTtl',
    'Service:Authorize:MaxAuthAge',
  ]),
  rule([], (_settings, { given, names, refuse, wrong }) => {
    for (const name of names(PROVIDER_PARAMETERS)) {
      const key = `${PROVIDER_PARAMETERS}:${name}` as const;
      if (!given('Service:Authorize:ClientId')) refuse(key, 'while Service:Authorize:ClientId is not');
      // Some providers ignore the letter case of names.
      if (!OWN_PARAMETERS.includes(name.toLowerCase())) continue;
      wrong(key, 'is a parameter that the service sets itself', 'another name, such as audience or resource');
    }
  }),
  rule(['Service:Authorize:Registration', 'Service:Authorize:PublicClients'], (settings, { wrong }) => {
    if (settings['Service:Authorize:Registration'] === 'off' || settings['Service:Authorize:PublicClients']) return;
    const problem = 'needs Service:Authorize:PublicClients, because only public clients could use its answer';
    wrong('Service:Authorize:Registration', problem, 'off, or true for Service:Authorize:PublicClients');
  }),
  differ('Service:Authorize:ClientId', 'Service:Me:ClientId', 'another client'),
  differFromConsole('Service:Authorize:ClientId'),
  whileIs('Service:Approvals:Enabled', true, { needs: ['Service:Me:ClientId'] }),
  rule(['Service:Approvals:Enabled'], (settings, { numbers, wrong }) => {
    if (!settings['Service:Approvals:Enabled'] || numbers('Service:Approvals:Resources').length > 0) return;
    const problem = 'is not set, nor is any other resource, while Service:Approvals:Enabled is true';
    wrong('Service:Approvals:Resources:0:Audience', problem, 'the audience of a tool server that may ask');
  }),
  rule([], (_settings, { given, numbers, expect, refuse, wrong }) => {
    for (const number of numbers('Service:Approvals:Resources')) {
      const resource = `Service:Approvals:Resources:${number}` as const;
      const [audience, address, text] = [`${resource}:Audience`, `${resource}:JwksUri`, `${resource}:Jwks`] as const;
      const [hasAddress, hasText] = [given(address), given(text)];
      if (hasAddress || hasText) expect(audience, `while ${hasAddress ? address : text} is set`);
      else wrong(audience, 'is set without keys', `${address} or ${text} beside it`);
      if (hasAddress) refuse(text, `beside ${address}`);
    }
  }),
  rule(['Service:Approvals:Resources'], (settings, { wrong }) => {
    for (const { index } of repeated(settings['Service:Approvals:Resources'], ({ Audience }) => Audience)) {
      const problem = 'is the audience of another resource as well';
      wrong(`Service:Approvals:Resources:${index}:Audience`, problem, 'an audience that no other resource has');
    }
  }),
  rule(['Service:Approvals:Resources', 'Service:Issuer'], (settings, { wrong }) => {
    const issuer = new URL(settings['Service:Issuer']);
    for (const { index, JwksUri } of settings['Service:Approvals:Resources']) {
      // The control plane publishes keys of agents. With these an agent could ask.
      if (JwksUri === undefined || !isSameHost(new URL(JwksUri), issuer)) continue;
      const accepted = "an address on another host than the control plane's, or the tool server's keys as Jwks";
      wrong(`Service:Approvals:Resources:${index}:JwksUri`, 'is on the host of Service:Issuer', accepted);
    }
  }),
  whileUnset('Service:Approvals:Notify:Url', ['Service:Approvals:Notify:BearerToken']),
  ...audiencesThatDiffer.map(([key, other]) => differ(key, other, 'another value')),
  issuerOutside(['me'], isMeOpen),
  rule(['Service:Operators:Audience', 'Service:Operators:ClientId'], (_settings, { given, refuse, wrong }) => {
    if (!given('Service:Operators:Audience') && !given('Service:Operators:ClientId')) {
      const when = 'while neither Service:Operators:Audience nor Service:Operators:ClientId is';
      for (const key of OPERATORS_NEED_A_WAY_IN) refuse(key, when);
    } else if (!OPERATOR_ROLES.some(given)) {
      const accepted =
        'the value of Service:Operators:RoleClaim that gives the role, for at least one of the four roles';
      wrong('Service:Operators:Roles:Viewer', 'is not set, nor is any other role', accepted);
    }
  }),
  whileUnset('Service:Operators:ClientId', ['Service:Operators:ClientSecret:Path']),
  differFromConsole('Service:Me:ClientId'),
  rule([], (_settings, findings) => {
    const { given, numbers, refuse, expect, wrong } = findings;
    if (isLogOn(findings)) {
      if (given('Service:Audit:Log:Key:Path')) refuse('Service:Audit:Log:Key:Pem', 'beside Service:Audit:Log:Key:Path');
    } else {
      for (const key of LOG_SETTINGS) refuse(key, 'while Service:Audit:Log:Key is not');
    }
    const witnesses = numbers('Service:Audit:Log:Witnesses');
    for (const number of witnesses) {
      const [address, key] = [
        `Service:Audit:Log:Witnesses:${number}:Url`,
        `Service:Audit:Log:Witnesses:${number}:VKey`,
      ] as const;
      if (isLogOn(findings)) {
        expect(address, `while ${key} is set`);
        expect(key, `while ${address} is set`);
      } else {
        for (const each of [address, key]) refuse(each, 'while Service:Audit:Log:Key is not');
      }
    }
    if (witnesses.length <= MAX_WITNESSES) return;
    wrong(
      `Service:Audit:Log:Witnesses:${witnesses.at(-1) ?? 0}:Url`,
      'is one witness too many',
      `at most ${MAX_WITNESSES}`,
    );
  }),
  rule(['Service:Audit:Log:Witnesses', 'Service:Audit:Log:Quorum'], (settings, { wrong }) => {
    const witnesses = settings['Service:Audit:Log:Witnesses'];
    const accepted = 'the key of a different witness';
    const namesakes = repeated(witnesses, ({ VKey }) => VKey?.name);
    for (const { index } of namesakes) {
      wrong(`Service:Audit:Log:Witnesses:${index}:VKey`, 'has the name of another witness', accepted);
    }
    // Two names of one key would count twice towards the quorum.
    for (const witness of repeated(witnesses, ({ VKey }) => VKey && encodeBase64(VKey.publicKey))) {
      if (namesakes.includes(witness)) continue;
      wrong(`Service:Audit:Log:Witnesses:${witness.index}:VKey`, 'has the key of another witness', accepted);
    }
    if (settings['Service:Audit:Log:Quorum'] <= witnesses.length) return;
    wrong('Service:Audit:Log:Quorum', 'is more than the number of witnesses', 'at most the number of witnesses');
  }),
  rule(['Service:Audit:Log:Origin'], (settings, findings) => {
    if (!isLogOn(findings) || isTrustableName(settings['Service:Audit:Log:Origin'])) return;
    const problem = 'is not set, and the address of Service:Issuer holds a character that no name of a log may have';
    findings.wrong('Service:Audit:Log:Origin', problem, 'a name without white space, plus and invisible characters');
  }),
  issuerOutside(['log'], isLogOn),
  whileSet('Service:Console:Port', ['Service:Operators:ClientId', 'Service:Console:Origin']),
  whileUnset('Service:Console:Port', ['Service:Console:Origin']),
  rule(['Service:Console:Origin', 'NODE_ENV'], (settings, { wrong }) => {
    const address = settings['Service:Console:Origin'];
    if (address === undefined) return;
    const { protocol, hostname } = new URL(address);
    // Browsers keep the cookies of a session over TLS only, and on the same machine.
    if (protocol === 'https:' || (isDevelopmentHost(settings) && isLoopback(hostname))) return;
    const accepted = 'an https origin; on a development host (NODE_ENV is development) also http on a loopback address';
    wrong('Service:Console:Origin', 'is plain http', accepted);
  }),
  rule(['Service:Console:Origin', 'Service:Issuer'], (settings, { wrong }) => {
    const address = settings['Service:Console:Origin'];
    if (address !== new URL(settings['Service:Issuer']).origin) return;
    // The console answers at the root of its origin, and its forms trust that origin.
    wrong('Service:Console:Origin', 'is the origin of Service:Issuer', 'another host or port');
  }),
  inOrder('Service:Tokens:DefaultTokenTtl', 'Service:Tokens:DefaultTaskTtl'),
  inOrder('Service:Agents:MinTaskTtl', 'Service:Agents:MaxTaskTtl'),
  inOrder('Service:Agents:MinTokenTtl', 'Service:Agents:MaxTokenTtl'),
  inOrder('Service:Agents:MinTokenTtl', 'Service:Agents:MinTaskTtl'),
  within('Service:Tokens:DefaultTaskTtl', 'Service:Agents:MinTaskTtl', 'Service:Agents:MaxTaskTtl'),
  within('Service:Tokens:DefaultTokenTtl', 'Service:Agents:MinTokenTtl', 'Service:Agents:MaxTokenTtl'),
  differ('Service:Metrics:Port', 'PORT', 'another port, or leaving it unset'),
  differ('Service:Console:Port', 'PORT', 'another port, or leaving it unset'),
  differ('Service:Console:Port', 'Service:Metrics:Port', 'another port, or leaving it unset'),
  burstHoldsASecond('Service:RateLimit'),
  burstHoldsASecond('Service:RateLimit:Introspection'),
  burstHoldsASecond('Service:RateLimit:Signals'),
];

function isLogOn({ given }: Findings): boolean {
  return given('Service:Audit:Log:Key:Path') || given('Service:Audit:Log:Key:Pem');
}

function isMeOpen({ given }: Findings): boolean {
  return given('Service:Me:Audience') || given('Service:Me:ClientId');
}

/** An issuer below such a path could not be distinguished from a route of the service. */
function issuerOutside(own: readonly string[], isServed: (findings: Findings) => boolean = () => true): Rule {
  const below = new RegExp(`^/+(?:${own.join('|')})(?:/|$)`);
  return rule(['Service:Issuer'], (settings, findings) => {
    if (!isServed(findings) || !below.test(new URL(settings['Service:Issuer']).pathname)) return;
    const problem = `has a path under ${own.map((name) => `/${name}`).join(' or ')}, where the service itself answers`;
    findings.wrong('Service:Issuer', problem, 'another path, or none');
  });
}

/** Ports, audiences: two settings that must not have one value. */
function differ(key: keyof Settings & SettingKey, other: keyof Settings, accepted: string): Rule {
  return rule([key, other], (settings, { wrong }) => {
    if (settings[key] === undefined || settings[key] !== settings[other]) return;
    wrong(key, `is the same as ${other}`, accepted);
  });
}

/** People and operators sign in with two clients. */
function differFromConsole(key: 'Service:Me:ClientId' | 'Service:Authorize:ClientId'): Rule {
  const about = [key, 'Service:Operators:ClientId', 'Service:Operators:Issuer', 'Service:UpstreamIdp:Issuer'] as const;
  return rule(about, (settings, { wrong }) => {
    const [client, issuer] = [settings[key], settings['Service:Operators:Issuer']];
    if (client === undefined || client !== settings['Service:Operators:ClientId']) return;
    // Another provider may have given the same name to another client.
    if (issuer !== undefined && issuer !== settings['Service:UpstreamIdp:Issuer']) return;
    const problem =
      "is the same as Service:Operators:ClientId, so a person's logout would close sessions of the console";
    wrong(key, problem, 'another client');
  });
}

/** The items whose value an earlier item of the list has, too. */
function repeated<Item>(items: readonly Item[], read: (item: Item) => string | undefined): readonly Item[] {
  const values = items.map(read);
  return items.filter((_item, at) => values[at] !== undefined && values.indexOf(values[at]) !== at);
}

/** While `key` has the value, some other settings are required and others refused. */
function whileIs<Key extends keyof Settings & SettingKey>(
  key: Key,
  value: Settings[Key] & (string | boolean),
  { needs = [], refuses = [] }: { readonly needs?: readonly SettingKey[]; readonly refuses?: readonly SettingKey[] },
): Rule {
  const when = `while ${key} is ${value}`;
  return rule([key], (settings, { expect, refuse }) => {
    if (settings[key] !== value) return;
    for (const each of needs) expect(each, when);
    for (const each of refuses) refuse(each, when);
  });
}

function whileSet(key: SettingKey, needed: readonly SettingKey[]): Rule {
  return rule([], (_settings, { given, expect }) => {
    if (given(key)) for (const each of needed) expect(each, `while ${key} is set`);
  });
}

function whileUnset(key: SettingKey, refused: readonly SettingKey[]): Rule {
  return rule([], (_settings, { given, refuse }) => {
    if (!given(key)) for (const each of refused) refuse(each, `while ${key} is not`);
  });
}

function exactlyOne({ given, wrong }: Findings, key: SettingKey, other: SettingKey): void {
  const isGiven = given(key);
  if (isGiven !== given(other)) return;
  wrong(key, isGiven ? `is set beside ${other}` : `is not set, nor is ${other}`, 'exactly one of the two');
}

function credentialsDiffer(receiver: 'Service:Scim' | 'Service:Ssf'): Rule {
  const [current, previous] = [`${receiver}:BearerToken`, `${receiver}:PreviousBearerToken`] as const;
  return rule([current, previous], (settings, { wrong }) => {
    const before: Secret | undefined = settings[previous];
    if (before === undefined || before.reveal() !== settings[current]?.reveal()) return;
    const accepted = 'the credential that was in use before, or leaving it unset';
    wrong(previous, `is the same as ${current}`, accepted);
  });
}

/** A smaller burst would lose a part of each second's refill, so that the rate could never be reached. */
function burstHoldsASecond(
  bucket: 'Service:RateLimit' | 'Service:RateLimit:Introspection' | 'Service:RateLimit:Signals',
): Rule {
  const [burst, permitsPerMinute] = [`${bucket}:Burst`, `${bucket}:PermitsPerMinute`] as const;
  return rule([burst, permitsPerMinute], (settings, { wrong }) => {
    if (settings[burst] >= permitsPerSecond({ permitsPerMinute: settings[permitsPerMinute] })) return;
    const least = `at least a sixtieth of ${permitsPerMinute}, rounded up`;
    wrong(burst, `is less than one second's worth of ${permitsPerMinute}`, least);
  });
}

type DurationKey =
  | 'Service:UpstreamIdp:SponsorCheck:CacheTtl'
  | `Service:Tokens:${'DefaultTaskTtl' | 'DefaultTokenTtl'}`
  | `Service:Agents:${'Min' | 'Max'}${'Task' | 'Token'}Ttl`;

function inOrder(shorter: DurationKey, longer: DurationKey): Rule {
  return rule([shorter, longer], (settings, findings) => atMost(settings, findings, shorter, longer));
}

function within(key: DurationKey, min: DurationKey, max: DurationKey): Rule {
  return rule([key, min, max], (settings, findings) => {
    atMost(settings, findings, key, max);
    if (settings[key] < settings[min]) findings.wrong(key, `is shorter than ${min}`, `at least ${min}`);
  });
}

function atMost<Key extends DurationKey>(
  settings: Pick<Settings, Key>,
  { wrong }: Findings,
  key: Key,
  bound: Key,
): void {
  if (settings[key] > settings[bound]) wrong(key, `is longer than ${bound}`, `at most ${bound}`);
}

/**
 * Each secret belongs to another party. Only a previous secret belongs to the same party as its successor; the rules
 * refuse a previous secret that equals it.
 */
const SECRETS = [
  'Service:Admin:ApiKey',
  'Service:Scim:BearerToken',
  'Service:Scim:PreviousBearerToken',
  'Service:Ssf:BearerToken',
  'Service:Ssf:PreviousBearerToken',
  'Service:Audit:Sink:BearerToken',
  'Service:UpstreamIdp:SponsorCheck:BearerToken',
  'Service:Approvals:Notify:BearerToken',
] as const satisfies readonly (keyof Settings)[];

type SecretSetting = (typeof SECRETS)[number];

/**
 * A secret in several settings gives its holder access through all of them. That is not a start-up error (specification
 * "Startup errors" has none for it): the start and the doctor warn. Returns the names of the settings of each
 * repeated secret, never a value.
 */
export function repeatedSecrets(settings: Pick<Settings, SecretSetting>): readonly (readonly SecretSetting[])[] {
  const holders = new Map<string, SecretSetting[]>();
  for (const key of SECRETS) {
    const secret: Secret | undefined = settings[key];
    if (secret !== undefined) holders.set(secret.reveal(), [...(holders.get(secret.reveal()) ?? []), key]);
  }
  return [...holders.values()].filter((keys) => keys.length > 1);
}

/**
 * How clients reach an issuer of plain http outside a development host: on a `network`, or from this machine only. Tokens,
 * grants and published keys then have no protection on the way. The specification accepts such an issuer: the start warns,
 * and the doctor fails for a `network`.
 */
export function plainHttpIssuer(
  settings: Pick<Settings, 'Service:Issuer' | 'NODE_ENV'>,
): 'network' | 'loopback' | undefined {
  const issuer = new URL(settings['Service:Issuer']);
  if (issuer.protocol !== 'http:' || isDevelopmentHost(settings)) return undefined;
  return travelsInTheClear(issuer) ? 'network' : 'loopback';
}
