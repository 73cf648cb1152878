/**
 * Settings that are valid one by one, but not together (specification "Startup errors"). The values are unusual texts,
 * so that a test finds them in any message.
 */

import { generateKeyPairSync } from 'node:crypto';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { COSIGNATURE, formatVerifierKey, makeVerifierKey, parseVerifierKey } from '../../../domain/log/verifier-key.ts';
import { WITNESS_KEYS } from '../../support/note-vectors.ts';
import { TOOL_KEYS } from './every-setting.ts';
import { door, onSqlite, PEM, signalsMode, type Texts } from './sources.ts';

export const MARK = 'zq7-recognised';

/** A key that can be loaded, so that only the tested setting is wrong. */
const USABLE_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

const IDP = 'Service:UpstreamIdp';
const CHECK = `${IDP}:SponsorCheck`;
const DB = 'Service:Database';
const KEYS = 'Service:Signing:Keys';
const ACTIVE = 'Service:Signing:ActiveKid';
const TOKENS = 'Service:Tokens';
const AGENTS = 'Service:Agents';
const AUDIT = 'Service:Audit';
const SCIM = 'Service:Scim';
const SSF = 'Service:Ssf';
const ME = 'Service:Me';
const LOG = 'Service:Audit:Log';
const log: Texts = { [`${LOG}:Key:Path`]: `/run/${MARK}.pem` };
const witness = (nth: number, key: string | undefined): Texts => ({
  [`${LOG}:Witnesses:${nth}:Url`]: `https://${MARK}.example`,
  [`${LOG}:Witnesses:${nth}:VKey`]: key,
});
/** The verifier key of the same key under another name. */
const renamed = (key: string): string => {
  const { type, publicKey } = parseVerifierKey(sha256Bytes, key) ?? { type: COSIGNATURE, publicKey: new Uint8Array() };
  return formatVerifierKey(makeVerifierKey(sha256Bytes, `${MARK}.example`, type, publicKey));
};
const APPROVALS = 'Service:Approvals';
const AUTHORIZE = 'Service:Authorize';
const SET_BY_THE_SERVICE: readonly string[] = [
  ...['client_id', 'client_secret', 'client_assertion', 'client_assertion_type', 'response_type', 'response_mode'],
  ...['redirect_uri', 'scope', 'state', 'nonce', 'code_challenge', 'code_challenge_method', 'prompt', 'max_age'],
  ...['claims', 'request', 'request_uri'],
];
const OPERATORS = 'Service:Operators';
const CONSOLE_SECRET = `${OPERATORS}:ClientSecret:Path`;
const ROLE = { [`${OPERATORS}:Roles:Auditor`]: `${MARK}-auditor` };

export const withConsole: Texts = {
  ...ROLE,
  [`${OPERATORS}:ClientId`]: `${MARK}-console`,
  'Service:Console:Port': '5200',
  'Service:Console:Origin': `https://${MARK}-console.example`,
};

/** The changes to valid settings, and the errors: `<key>: <problem>`. */
export type BrokenRule = readonly [title: string, changes: Texts, ...errors: readonly string[]];

export const transmitter: Texts = {
  [`${SSF}:Issuer`]: `https://${MARK}-transmitter.example`,
  [`${SSF}:Audience`]: `${MARK}-stream`,
  [`${SSF}:BearerToken`]: `${MARK}-ssf-${'s'.repeat(32)}`,
};
const SECRET = `${MARK}-${'s'.repeat(32)}`;
const whileSignals = (field: string) => `${CHECK}:${field}: is set while ${CHECK}:Mode is signals`;
const onPostgresOnly = (key: string) => `${key}: is set while ${DB}:Provider is sqlite`;
const longer = (key: string, limit: string) => `${key}: is longer than ${limit}`;
const shorter = (key: string, limit: string) => `${key}: is shorter than ${limit}`;
const [TASK, TOKEN] = [`${TOKENS}:DefaultTaskTtl`, `${TOKENS}:DefaultTokenTtl`];
const [MIN_TASK, MAX_TASK] = [`${AGENTS}:MinTaskTtl`, `${AGENTS}:MaxTaskTtl`];
const [MIN_TOKEN, MAX_TOKEN] = [`${AGENTS}:MinTokenTtl`, `${AGENTS}:MaxTokenTtl`];

export const brokenRules: readonly BrokenRule[] = [
  ...['Service:RateLimit', 'Service:RateLimit:Introspection', 'Service:RateLimit:Signals'].map(
    (bucket): BrokenRule => [
      `a ${bucket}:Burst below one second's worth of its rate`,
      { [`${bucket}:PermitsPerMinute`]: '918241', [`${bucket}:Burst`]: '15304' },
      `${bucket}:Burst: is less than one second's worth of ${bucket}:PermitsPerMinute`,
    ],
  ),
  ...['/admin', '/agents/x', '/x/../admin/y'].map(
    (path): BrokenRule => [
      `an issuer with the path ${path} of the service itself`,
      { 'Service:Issuer': `https://${MARK}.example${path}` },
      'Service:Issuer: has a path under /admin or /agents, where the service itself answers',
    ],
  ),
  ...['/me', '/me/', '/x/../me/y'].map(
    (path): BrokenRule => [
      `an issuer with the path ${path} beside the surface of people`,
      { 'Service:Issuer': `https://${MARK}.example${path}`, [`${ME}:Audience`]: `${MARK}-me` },
      'Service:Issuer: has a path under /me, where the service itself answers',
    ],
  ),
  [
    'settings of the page without its client',
    {
      [`${ME}:Audience`]: `${MARK}-me`,
      [`${ME}:ClientSecret:Path`]: `/${MARK}`,
      [`${ME}:SessionTtl`]: 'PT7M',
      [`${ME}:AskForName`]: 'true',
      [`${ME}:ScopeDescriptions`]: `/${MARK}`,
    },
    `${ME}:ClientSecret:Path: is set while ${ME}:ClientId is not`,
    `${ME}:SessionTtl: is set while ${ME}:ClientId is not`,
    `${ME}:AskForName: is set while ${ME}:ClientId is not`,
    `${ME}:ScopeDescriptions: is set while ${ME}:ClientId is not`,
  ],
  [
    'a pause without the surface of people',
    { [`${ME}:Pause`]: 'true' },
    `${ME}:Pause: is set while neither ${ME}:Audience nor ${ME}:ClientId is`,
  ],
  [
    "an audience of people that is that of the agents' subject tokens",
    { [`${ME}:Audience`]: `${MARK}-same`, [`${IDP}:Audience`]: `${MARK}-same` },
    `${ME}:Audience: is the same as ${IDP}:Audience`,
  ],
  [
    'a client of the page that is an audience of access tokens',
    { [`${ME}:ClientId`]: `${MARK}-same`, [`${IDP}:Audience`]: `${MARK}-same` },
    `${ME}:ClientId: is the same as ${IDP}:Audience`,
  ],
  [
    'a client of the page that is the audience of people',
    { [`${ME}:ClientId`]: `${MARK}-same`, [`${ME}:Audience`]: `${MARK}-same` },
    `${ME}:ClientId: is the same as ${ME}:Audience`,
  ],
  [
    'an audience of people that is the client of logout tokens',
    { [`${ME}:Audience`]: `${MARK}-same`, [`${IDP}:BackchannelLogout:Audience`]: `${MARK}-same` },
    `${ME}:Audience: is the same as ${IDP}:BackchannelLogout:Audience`,
  ],
  [
    'an audience of people that is that of security events',
    { ...transmitter, [`${ME}:Audience`]: `${MARK}-stream` },
    `${ME}:Audience: is the same as ${SSF}:Audience`,
  ],
  [
    'a door for tasks that people start without the page that stops them',
    { [`${AUTHORIZE}:ClientId`]: `${MARK}-door` },
    `${ME}:ClientId: is required while ${AUTHORIZE}:ClientId is set`,
  ],
  ...Object.entries({
    'ClientSecret:Path': `/${MARK}`,
    ScopePrefix: `api://${MARK}/`,
    PublicClients: 'false',
    Registration: 'off',
    RequestTtl: 'PT10M',
    CodeTtl: 'PT1M',
    MaxAuthAge: 'PT9M',
    'ProviderParameters:audience': MARK,
  }).map(
    ([field, text]): BrokenRule => [
      `${AUTHORIZE}:${field} without the client`,
      { [`${ME}:ClientId`]: 'page', [`${AUTHORIZE}:${field}`]: text },
      `${AUTHORIZE}:${field}: is set while ${AUTHORIZE}:ClientId is not`,
    ],
  ),
  [
    'parameters for the provider that the service sets itself',
    {
      ...door,
      ...Object.fromEntries(SET_BY_THE_SERVICE.map((name) => [`${AUTHORIZE}:ProviderParameters:${name}`, MARK])),
      [`${AUTHORIZE}:ProviderParameters:Scope`]: MARK,
    },
    ...[...SET_BY_THE_SERVICE, 'Scope']
      .toSorted()
      .map((name) => `${AUTHORIZE}:ProviderParameters:${name}: is a parameter that the service sets itself`),
  ],
  [
    'registration of known programs without public clients',
    { ...door, [`${AUTHORIZE}:Registration`]: 'known' },
    `${AUTHORIZE}:Registration: needs ${AUTHORIZE}:PublicClients, because only public clients could use its answer`,
  ],
  ...[`${IDP}:Audience`, `${ME}:Audience`, `${OPERATORS}:Audience`, `${ME}:ClientId`].map(
    (other): BrokenRule => [
      `a client for tasks that people start that is ${other}`,
      {
        ...door,
        ...(other.startsWith(OPERATORS) && ROLE),
        [`${AUTHORIZE}:ClientId`]: `${MARK}-same`,
        [other]: `${MARK}-same`,
      },
      other.startsWith(OPERATORS)
        ? `${other}: is the same as ${AUTHORIZE}:ClientId`
        : `${AUTHORIZE}:ClientId: is the same as ${other}`,
    ],
  ),
  [
    'a client for tasks that people start that is that of the console',
    { ...door, ...ROLE, [`${AUTHORIZE}:ClientId`]: `${MARK}-same`, [`${OPERATORS}:ClientId`]: `${MARK}-same` },
    `${AUTHORIZE}:ClientId: is the same as ${OPERATORS}:ClientId, so a person's logout would close sessions of the console`,
  ],
  [
    "the secret of the console's client without the client",
    { ...ROLE, [`${OPERATORS}:Audience`]: `${MARK}-operators`, [CONSOLE_SECRET]: `/${MARK}` },
    `${CONSOLE_SECRET}: is set while ${OPERATORS}:ClientId is not`,
  ],
  [
    'both an issuer and a metadata URL of the identity provider',
    { [`${IDP}:MetadataUrl`]: `https://${MARK}.example/meta` },
    `${IDP}:Issuer: is set beside ${IDP}:MetadataUrl`,
  ],
  [
    'a sponsor check by poll without its settings',
    { ...signalsMode, [`${CHECK}:Mode`]: 'poll' },
    `${CHECK}:UsersUrl: is required while ${CHECK}:Mode is poll`,
    `${CHECK}:TokenUrl: is not set, nor is ${CHECK}:BearerToken`,
    `${CHECK}:ClientId: is required while ${CHECK}:Mode is poll`,
  ],
  ...['UsersUrl', 'TokenUrl', 'ClientId', 'Scope', 'BearerToken'].map(
    (field): BrokenRule => [
      `${CHECK}:${field} while the sponsor check uses signals`,
      { ...signalsMode, [`${CHECK}:${field}`]: field === 'BearerToken' ? SECRET : `https://${MARK}.example` },
      whileSignals(field),
    ],
  ),
  [
    'a CacheTtl that equals the default while the sponsor check uses signals',
    { ...signalsMode, [`${CHECK}:CacheTtl`]: 'PT30S' },
    whileSignals('CacheTtl'),
  ],
  [
    'all settings of the sponsor check by poll while it uses signals',
    {
      [`${CHECK}:Mode`]: 'signals',
      [`${CHECK}:CacheTtl`]: '00:00:17',
      [`${CHECK}:Scope`]: MARK,
      [`${CHECK}:BearerToken`]: SECRET,
    },
    ...['UsersUrl', 'TokenUrl', 'ClientId', 'Scope', 'BearerToken', 'CacheTtl'].map(whileSignals),
  ],
  [
    'a bearer token for the sponsor check beside its client',
    { [`${CHECK}:BearerToken`]: SECRET, [`${CHECK}:Scope`]: MARK },
    `${CHECK}:TokenUrl: is set beside ${CHECK}:BearerToken`,
    ...['ClientId', 'Scope'].map((field) => `${CHECK}:${field}: is set while ${CHECK}:BearerToken is set`),
  ],
  [
    'a client for the sponsor check beside its bearer token',
    { [`${CHECK}:BearerToken`]: SECRET, [`${CHECK}:TokenUrl`]: undefined },
    `${CHECK}:ClientId: is set while ${CHECK}:BearerToken is set`,
  ],
  ['a CacheTtl over the token lifetime', { [`${CHECK}:CacheTtl`]: '00:17:19' }, longer(`${CHECK}:CacheTtl`, TOKEN)],
  [
    'a token lifetime below the default CacheTtl',
    { [TOKEN]: '00:00:29', [MIN_TOKEN]: '00:00:09' },
    longer(`${CHECK}:CacheTtl`, TOKEN),
  ],
  ['a path on Postgres', { [`${DB}:Path`]: `/var/${MARK}.db` }, `${DB}:Path: is set while ${DB}:Provider is postgres`],
  [
    'SQLite without a path',
    { ...onSqlite, [`${DB}:Path`]: '' },
    `${DB}:Path: is required while ${DB}:Provider is sqlite`,
  ],
  ...[`${DB}:ConnectionString`, `${DB}:MigrationConnectionString`].map(
    (key): BrokenRule => [
      `${key} on SQLite`,
      { ...onSqlite, [key]: `postgresql://user:${MARK}@db/mandate` },
      onPostgresOnly(key),
    ],
  ),
  [
    'SQLite in memory',
    { ...onSqlite, [`${DB}:Path`]: ':memory:' },
    `${DB}:Path: is SQLite in memory, which each command would have for itself`,
  ],
  ['a retention on SQLite', { ...onSqlite, [`${AUDIT}:Retention`]: 'P9182D' }, onPostgresOnly(`${AUDIT}:Retention`)],
  [
    'partitions on SQLite',
    { ...onSqlite, [`${AUDIT}:Partitions:MonthsAhead`]: '11' },
    onPostgresOnly(`${AUDIT}:Partitions:MonthsAhead`),
  ],
  ...[`http://${MARK}.example`, undefined].map(
    (url): BrokenRule => [
      `a token for a sink ${url === undefined ? 'without a URL' : 'over http'}`,
      { [`${AUDIT}:Sink:Url`]: url, [`${AUDIT}:Sink:BearerToken`]: `${MARK}-sink-token` },
      `${AUDIT}:Sink:BearerToken: is set while ${AUDIT}:Sink:Url is not an https URL`,
    ],
  ),
  ...Object.entries({ PreviousBearerToken: SECRET, SponsorKeyAttribute: 'externalId', MaxUsers: '50000' }).map(
    ([field, text]): BrokenRule => [
      `${SCIM}:${field} without a credential`,
      { [`${SCIM}:${field}`]: text },
      `${SCIM}:${field}: is set while ${SCIM}:BearerToken is not`,
    ],
  ),
  [
    'a previous SCIM credential that equals the current one',
    { [`${SCIM}:BearerToken`]: SECRET, [`${SCIM}:PreviousBearerToken`]: SECRET },
    `${SCIM}:PreviousBearerToken: is the same as ${SCIM}:BearerToken`,
  ],
  ...['Audience', 'BearerToken'].flatMap((field): BrokenRule[] => [
    [
      `a transmitter without ${SSF}:${field}`,
      { ...transmitter, [`${SSF}:${field}`]: undefined },
      `${SSF}:${field}: is required while ${SSF}:Issuer is set`,
    ],
    [
      `${SSF}:${field} without a transmitter`,
      { [`${SSF}:${field}`]: transmitter[`${SSF}:${field}`] },
      `${SSF}:${field}: is set while ${SSF}:Issuer is not`,
    ],
  ]),
  [
    'a previous credential of the transmitter without a transmitter',
    { [`${SSF}:PreviousBearerToken`]: SECRET },
    `${SSF}:PreviousBearerToken: is set while ${SSF}:Issuer is not`,
  ],
  [
    'a previous credential of the transmitter that equals the current one',
    { ...transmitter, [`${SSF}:PreviousBearerToken`]: transmitter[`${SSF}:BearerToken`] },
    `${SSF}:PreviousBearerToken: is the same as ${SSF}:BearerToken`,
  ],
  [
    'credentials of the transmitter of fewer than 32 characters',
    { ...transmitter, [`${SSF}:BearerToken`]: `${MARK}-s`, [`${SSF}:PreviousBearerToken`]: `${MARK}-p` },
    ...['BearerToken', 'PreviousBearerToken'].map((field) => `${SSF}:${field}: is shorter than 32 characters`),
  ],
  ['a signing key by path and by text', { [`${KEYS}:0:Pem`]: PEM }, `${KEYS}:0:Path: is set beside ${KEYS}:0:Pem`],
  [
    'a signing key by neither path nor text',
    { [`${KEYS}:4:Kid`]: `${MARK}-kid`, [ACTIVE]: `${MARK}-kid` },
    `${KEYS}:4:Path: is not set, nor is ${KEYS}:4:Pem`,
  ],
  [
    'two signing keys without an active one',
    { [`${KEYS}:1:Pem`]: USABLE_KEY },
    `${ACTIVE}: is required while there is more than one signing key`,
  ],
  [
    'two signing keys with the same kid',
    { [`${KEYS}:0:Kid`]: MARK, [`${KEYS}:1:Kid`]: MARK, [`${KEYS}:1:Pem`]: USABLE_KEY, [ACTIVE]: MARK },
    `${KEYS}:1:Kid: names another signing key as well`,
  ],
  [
    'an active kid that no signing key has',
    { [`${KEYS}:0:Kid`]: `${MARK}-kid`, [ACTIVE]: `${MARK}-other` },
    `${ACTIVE}: does not name a signing key`,
  ],
  [
    'an active kid without any signing key',
    { NODE_ENV: 'development', [`${KEYS}:0:Path`]: undefined, [ACTIVE]: `${MARK}-kid` },
    `${ACTIVE}: does not name a signing key`,
  ],
  ['a default token lifetime over that of tasks', { [TASK]: '00:04:17' }, longer(TOKEN, TASK)],
  [
    'a minimum task lifetime over the maximum',
    { [MIN_TASK]: '00:41:17', [MAX_TASK]: '00:41:16', [TASK]: '00:41:16' },
    longer(MIN_TASK, MAX_TASK),
    shorter(TASK, MIN_TASK),
  ],
  [
    'a minimum and a default task lifetime over the maximum',
    { [MIN_TASK]: '00:20:17', [MAX_TASK]: '00:19:17' },
    longer(MIN_TASK, MAX_TASK),
    longer(TASK, MAX_TASK),
  ],
  [
    'a minimum token lifetime over the maximum',
    { [MIN_TOKEN]: '00:00:58', [MAX_TOKEN]: '00:00:57', [TOKEN]: '00:00:57' },
    longer(MIN_TOKEN, MAX_TOKEN),
    shorter(TOKEN, MIN_TOKEN),
  ],
  [
    'a minimum and a default token lifetime over the maximum',
    { [MIN_TOKEN]: '00:00:58', [MAX_TOKEN]: '00:00:57' },
    longer(MIN_TOKEN, MAX_TOKEN),
    longer(TOKEN, MAX_TOKEN),
  ],
  ['a minimum token lifetime over the minimum task lifetime', { [MIN_TOKEN]: '00:01:17' }, longer(MIN_TOKEN, MIN_TASK)],
  ['a default task lifetime over the maximum', { [TASK]: '3.17:19:23' }, longer(TASK, MAX_TASK)],
  ['a default task lifetime below the minimum', { [MIN_TASK]: '00:41:17' }, shorter(TASK, MIN_TASK)],
  ['a default token lifetime over the maximum', { [MAX_TOKEN]: '00:04:17' }, longer(TOKEN, MAX_TOKEN)],
  [
    'a default token lifetime below the minimum',
    { [MIN_TOKEN]: '00:06:17', [MIN_TASK]: '00:06:17' },
    shorter(TOKEN, MIN_TOKEN),
  ],
  ...['Audience', 'ClientId'].map(
    (field): BrokenRule => [
      `operators by ${field} without a role`,
      { [`${OPERATORS}:${field}`]: `${MARK}-operators` },
      `${OPERATORS}:Roles:Viewer: is not set, nor is any other role`,
    ],
  ),
  ...['Audience', 'ClientId'].map(
    (field): BrokenRule => [
      `operators whose ${field} is the audience of the tokens that agents hold`,
      { ...ROLE, [`${IDP}:Audience`]: `${MARK}-shared`, [`${OPERATORS}:${field}`]: `${MARK}-shared` },
      `${OPERATORS}:${field}: is the same as ${IDP}:Audience`,
    ],
  ),
  [
    'operators whose ID tokens have the audience of their access tokens',
    { ...ROLE, [`${OPERATORS}:Audience`]: `${MARK}-one`, [`${OPERATORS}:ClientId`]: `${MARK}-one` },
    `${OPERATORS}:ClientId: is the same as ${OPERATORS}:Audience`,
  ],
  ...(
    [
      ['Audience', `${ME}:Audience`],
      ['Audience', `${ME}:ClientId`],
      ['ClientId', `${ME}:Audience`],
      ['Audience', `${IDP}:BackchannelLogout:Audience`],
    ] as const
  ).map(
    ([field, other]): BrokenRule => [
      `operators whose ${field} is ${other}`,
      { ...ROLE, [other]: `${MARK}-shared`, [`${OPERATORS}:${field}`]: `${MARK}-shared` },
      `${OPERATORS}:${field}: is the same as ${other}`,
    ],
  ),
  [
    'one client for the page and for the console, at one provider',
    {
      ...ROLE,
      [`${IDP}:Issuer`]: `https://${MARK}.example`,
      [`${ME}:ClientId`]: `${MARK}-one`,
      [`${OPERATORS}:ClientId`]: `${MARK}-one`,
      [`${OPERATORS}:Issuer`]: `https://${MARK}.example`,
    },
    `${ME}:ClientId: is the same as ${OPERATORS}:ClientId, so a person's logout would close sessions of the console`,
  ],
  [
    'one client for the page and for the console, without another provider for operators',
    { ...ROLE, [`${ME}:ClientId`]: `${MARK}-one`, [`${OPERATORS}:ClientId`]: `${MARK}-one` },
    `${ME}:ClientId: is the same as ${OPERATORS}:ClientId, so a person's logout would close sessions of the console`,
  ],
  [
    'an audience of operators that is that of security events',
    { ...transmitter, ...ROLE, [`${OPERATORS}:Audience`]: `${MARK}-stream` },
    `${OPERATORS}:Audience: is the same as ${SSF}:Audience`,
  ],
  ...Object.entries({
    Issuer: `https://${MARK}.example`,
    RoleClaim: 'roles',
    TwoPersonUnblock: 'false',
    ...Object.fromEntries(['Viewer', 'Auditor', 'Registrar', 'Responder'].map((role) => [`Roles:${role}`, MARK])),
  }).map(
    ([field, text]): BrokenRule => [
      `${OPERATORS}:${field} without operators`,
      { [`${OPERATORS}:${field}`]: text },
      `${OPERATORS}:${field}: is set while neither ${OPERATORS}:Audience nor ${OPERATORS}:ClientId is`,
    ],
  ),
  [
    'settings of the transparency log without its key',
    {
      [`${LOG}:Origin`]: `${MARK}.example`,
      [`${LOG}:Public`]: 'true',
      [`${LOG}:Quorum`]: '0',
      [`${LOG}:WitnessTimeout`]: 'PT9S',
      [`${LOG}:Witnesses:2:Url`]: `https://${MARK}.example`,
    },
    ...['Origin', 'Public', 'Quorum', 'WitnessTimeout', 'Witnesses:2:Url'].map(
      (field) => `${LOG}:${field}: is set while ${LOG}:Key is not`,
    ),
  ],
  [
    'approvals without the page, and without a resource',
    { [`${APPROVALS}:Enabled`]: 'true' },
    'Service:Me:ClientId: is required while Service:Approvals:Enabled is true',
    `${APPROVALS}:Resources:0:Audience: is not set, nor is any other resource, while ${APPROVALS}:Enabled is true`,
  ],
  [
    'resources for approvals with one audience, without an audience, without keys, and with keys twice',
    {
      [`${APPROVALS}:Resources:0:Audience`]: `https://${MARK}.example`,
      [`${APPROVALS}:Resources:0:JwksUri`]: `https://${MARK}.example/keys`,
      [`${APPROVALS}:Resources:1:Audience`]: `https://${MARK}.example`,
      [`${APPROVALS}:Resources:1:Jwks`]: JSON.stringify(TOOL_KEYS),
      [`${APPROVALS}:Resources:2:JwksUri`]: `https://${MARK}.example/keys`,
      [`${APPROVALS}:Resources:3:Audience`]: `https://${MARK}.example/3`,
      [`${APPROVALS}:Resources:4:Audience`]: `https://${MARK}.example/4`,
      [`${APPROVALS}:Resources:4:JwksUri`]: `https://${MARK}.example/keys`,
      [`${APPROVALS}:Resources:4:Jwks`]: JSON.stringify(TOOL_KEYS),
    },
    `${APPROVALS}:Resources:2:Audience: is required while ${APPROVALS}:Resources:2:JwksUri is set`,
    `${APPROVALS}:Resources:3:Audience: is set without keys`,
    `${APPROVALS}:Resources:4:Jwks: is set beside ${APPROVALS}:Resources:4:JwksUri`,
    `${APPROVALS}:Resources:1:Audience: is the audience of another resource as well`,
  ],
  [
    'keys of a tool server on the host of the control plane',
    {
      [`${APPROVALS}:Resources:0:Audience`]: `https://${MARK}.example`,
      [`${APPROVALS}:Resources:0:JwksUri`]: `https://mandate.example:8443/agents/${MARK}/jwks.json`,
    },
    `${APPROVALS}:Resources:0:JwksUri: is on the host of Service:Issuer`,
  ],
  [
    'a bearer token for notices of approvals without their address',
    { [`${APPROVALS}:Notify:BearerToken`]: MARK },
    `${APPROVALS}:Notify:BearerToken: is set while ${APPROVALS}:Notify:Url is not`,
  ],
  [
    'a key of the log by path and by text',
    { ...log, [`${LOG}:Key:Pem`]: PEM },
    `${LOG}:Key:Pem: is set beside ${LOG}:Key:Path`,
  ],
  [
    'a witness without a key, and one without an address',
    { ...log, [`${LOG}:Witnesses:0:Url`]: `https://${MARK}.example`, [`${LOG}:Witnesses:1:VKey`]: WITNESS_KEYS[0] },
    `${LOG}:Witnesses:0:VKey: is required while ${LOG}:Witnesses:0:Url is set`,
    `${LOG}:Witnesses:1:Url: is required while ${LOG}:Witnesses:1:VKey is set`,
  ],
  [
    'two witnesses with one name',
    Object.assign({ ...log }, ...[0, 1].map((nth) => witness(nth, WITNESS_KEYS[0]))),
    `${LOG}:Witnesses:1:VKey: has the name of another witness`,
  ],
  [
    'two witnesses with one key under two names',
    { ...log, ...witness(0, WITNESS_KEYS[0]), ...witness(1, renamed(WITNESS_KEYS[0] ?? '')) },
    `${LOG}:Witnesses:1:VKey: has the key of another witness`,
  ],
  [
    'a quorum of more witnesses than there are',
    { ...log, ...witness(0, WITNESS_KEYS[0]), [`${LOG}:Quorum`]: '2' },
    `${LOG}:Quorum: is more than the number of witnesses`,
  ],
  [
    'an issuer whose path is no part of a name of a log',
    { ...log, 'Service:Issuer': `https://${MARK}.example/a+b` },
    `${LOG}:Origin: is not set, and the address of Service:Issuer holds a character that no name of a log may have`,
  ],
  ...['/log', '/log/x'].map(
    (path): BrokenRule => [
      `an issuer with the path ${path} beside the log`,
      { ...log, 'Service:Issuer': `https://${MARK}.example${path}` },
      'Service:Issuer: has a path under /log, where the service itself answers',
    ],
  ),
  [
    'a console without its client and its address',
    { ...ROLE, 'Service:Console:Port': '5200' },
    `${OPERATORS}:Roles:Auditor: is set while neither ${OPERATORS}:Audience nor ${OPERATORS}:ClientId is`,
    `${OPERATORS}:ClientId: is required while Service:Console:Port is set`,
    'Service:Console:Origin: is required while Service:Console:Port is set',
  ],
  [
    'the address of a console without its port',
    { 'Service:Console:Origin': `https://${MARK}-console.example` },
    'Service:Console:Origin: is set while Service:Console:Port is not',
  ],
  ...[`http://${MARK}-console.example`, 'http://127.0.0.1:5200'].map(
    (origin): BrokenRule => [
      `a console at the plain address ${origin} outside a development host`,
      { ...withConsole, 'Service:Console:Origin': origin },
      'Service:Console:Origin: is plain http',
    ],
  ),
  [
    'a console at a plain address that is not loopback, on a development host',
    { ...withConsole, NODE_ENV: 'development', 'Service:Console:Origin': `http://${MARK}-console.example` },
    'Service:Console:Origin: is plain http',
  ],
  [
    'a console at the origin of the issuer',
    {
      ...withConsole,
      'Service:Issuer': `https://${MARK}.example/tenant`,
      'Service:Console:Origin': `https://${MARK}.example`,
    },
    'Service:Console:Origin: is the origin of Service:Issuer',
  ],
  [
    'a console on the port of the service',
    { ...withConsole, PORT: '5200' },
    'Service:Console:Port: is the same as PORT',
  ],
  [
    'a console on the port of metrics',
    { ...withConsole, 'Service:Metrics:Port': '5200' },
    'Service:Console:Port: is the same as Service:Metrics:Port',
  ],
  [
    'metrics on the port of the service',
    { 'Service:Metrics:Port': '9182', PORT: '9182' },
    'Service:Metrics:Port: is the same as PORT',
  ],
];
