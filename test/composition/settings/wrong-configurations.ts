/**
 * Configurations that no service starts with: each a step aside from settings that hold, with what has to be named.
 * Values are such that they would be recognised wherever they were repeated.
 */

import { generateKeyPairSync } from 'node:crypto';
import { catalogue, removedSettings } from '../../../composition/settings/catalogue.ts';
import type { Setting } from '../../../composition/settings/setting.ts';
import { onSqlite, PEM, signalsMode, type Texts } from './sources.ts';

export interface WrongConfiguration {
  readonly title: string;
  /** To the startable settings; `undefined` leaves one out. */
  readonly changes: Texts;
  /** Of the command line. */
  readonly overrides?: readonly { readonly key: string; readonly value: string }[];
  /** The keys that have to be named, and no others. */
  readonly names: readonly string[];
}

const MARK = 'zq7-recognised';
/** So that nothing but the setting is wrong: a key that cannot be used is named as well. */
const USABLE_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

/** What else has to be set for a setting to be wrong by its value alone. */
const COMPANY: Readonly<Record<string, Texts>> = {
  'Service:UpstreamIdp:MetadataUrl': { 'Service:UpstreamIdp:Issuer': undefined },
  'Service:Database:Path': { ...onSqlite },
  'Service:Signing:Keys:0:Pem': { 'Service:Signing:Keys:0:Path': undefined },
  'Service:Scim:PreviousBearerToken': { 'Service:Scim:BearerToken': `${MARK}-scim-${'s'.repeat(32)}` },
  'Service:Scim:SponsorKeyAttribute': { 'Service:Scim:BearerToken': `${MARK}-scim-${'s'.repeat(32)}` },
  'Service:Scim:MaxUsers': { 'Service:Scim:BearerToken': `${MARK}-scim-${'s'.repeat(32)}` },
  ...Object.fromEntries(
    ['Issuer', 'Audience', 'BearerToken', 'PreviousBearerToken'].map((field) => [
      `Service:Ssf:${field}`,
      {
        'Service:Ssf:Issuer': `https://${MARK}-transmitter.example`,
        'Service:Ssf:Audience': `${MARK}-stream`,
        'Service:Ssf:BearerToken': `${MARK}-ssf-${'s'.repeat(32)}`,
      },
    ]),
  ),
  'Service:Audit:Sink:BearerToken': { 'Service:Audit:Sink:Url': `https://${MARK}-sink.example` },
};

/** By the beginning of what a setting accepts: texts that are not that. */
const UNREADABLE: readonly (readonly [RegExp, Readonly<Record<string, string>>])[] = [
  [
    /^an absolute http/,
    {
      'no URL': `${MARK}.example`,
      'another scheme': `ftp://${MARK}.example`,
      'user information': `https://user:${MARK}@mandate.example`,
      'a fragment': `https://${MARK}.example/#part`,
      'white space': `https://${MARK}.example/two words`,
      'a backslash': `https:\\\\${MARK}.example`,
    },
  ],
  [
    /^a duration/,
    {
      'a number alone': '91827364',
      years: 'P73Y18DT19M',
      months: 'P73M18DT19M',
      'nothing at all': 'P0DT00H000M',
      'a fraction': 'PT91.827S',
      'minutes beyond an hour': '00:91:27',
      'less than nothing': '-PT9182S',
    },
  ],
  [
    /^a whole number/,
    {
      words: MARK,
      'a fraction': '918273.64',
      'less than nothing': '-91827364',
      'an exponent': '9182e7364',
      'far too much': '918273645918',
    },
  ],
  [/^`true` or/, { 'a word': 'True-91827', 'a digit': '91827364' }],
  [/^`(poll|postgres|externalId)`/, { 'another word': MARK, 'another case': 'POLL-91827' }],
  [
    /characters: letters, digits/,
    {
      'white space': `${MARK} ${'x'.repeat(32)}`,
      'an accent': `${MARK}-é-${'x'.repeat(32)}`,
      'a novel': MARK.repeat(200),
    },
  ],
  [/^at least 32 characters/, { 'too few characters': `${MARK}-short` }],
  [
    /^a libpq URI/,
    {
      words: `host=db password=${MARK}`,
      'another database': `mysql://user:${MARK}@db/mandate`,
      'a password that is not encoded': `postgresql://user:${MARK}#@db/mandate`,
      'a port in words': `postgresql://user@db:${MARK}/mandate`,
    },
  ],
  [/^the text of a PEM/, { 'a path': `/run/${MARK}.pem`, 'half of it': `-----BEGIN PRIVATE KEY-----\n${MARK}` }],
  [
    /^(text of|the path|a claim name|a name of|a host name)/,
    { 'a line break': `${MARK}\nmore`, 'white space at its end': `${MARK} `, 'a novel': MARK.repeat(200) },
  ],
  [/^(a claim name|a name of|a host name)/, { 'two words': `${MARK} two` }],
  [
    /network|CIDR/i,
    { 'a name': `${MARK}.example`, everybody: '10.91.82.0/24,0.0.0.0/0', 'too long a prefix': '10.91.82.0/33' },
  ],
];

/** Every setting with every kind of text that it does not accept. */
const unreadable: readonly WrongConfiguration[] = entries.flatMap(([declared, { type }]) => {
  const key = declared.replace(':N:', ':0:');
  // Any text but `development` is a host that is none.
  const wrong = key === 'NODE_ENV' ? [] : UNREADABLE.filter(([accepted]) => accepted.test(type.accepts));
  return wrong.flatMap(([, texts]) =>
    Object.entries(texts).map(([what, text]) => ({
      title: `${key} with ${what}`,
      changes: { ...COMPANY[key], [key]: text },
      names: [key],
    })),
  );
});

const DURATIONS: Readonly<Record<string, readonly string[]>> = {
  'Service:Tasks:SweepInterval': ['P1DT9182S'],
  'Service:Audit:Aggregation:Window': ['PT15M9182S'],
  'Service:Audit:Checkpoint:Interval': ['PT1H9182S'],
  'Service:Audit:DrainInterval': ['PT1H9182S'],
  'Service:Audit:Retention': ['P30DT9182S'],
  'Service:Overload:QueueTimeout': ['PT9182S'],
};

const outOfBounds: readonly WrongConfiguration[] = Object.entries(DURATIONS).flatMap(([key, texts]) =>
  texts.map((text) => ({ title: `${key} beyond its bounds`, changes: { [key]: text }, names: [key] })),
);

const missing: readonly WrongConfiguration[] = [
  'Service:Issuer',
  'Service:UpstreamIdp:Audience',
  'Service:UpstreamIdp:Issuer',
  'Service:UpstreamIdp:SponsorCheck:UsersUrl',
  'Service:UpstreamIdp:SponsorCheck:TokenUrl',
  'Service:UpstreamIdp:SponsorCheck:ClientId',
  'Service:Database:ConnectionString',
  'Service:Signing:Keys:0:Path',
].flatMap((key) => [
  { title: `${key} unset`, changes: { [key]: undefined }, names: [key] },
  { title: `${key} empty`, changes: { [key]: '' }, names: [key] },
]);

const SSF: Texts = {
  'Service:Ssf:Issuer': `https://${MARK}-transmitter.example`,
  'Service:Ssf:Audience': `${MARK}-stream`,
  'Service:Ssf:BearerToken': `${MARK}-ssf-${'s'.repeat(32)}`,
};

/** Settings that hold one by one, and not together (specification "Startup errors"). */
const together: readonly WrongConfiguration[] = [
  {
    title: 'the provider named twice',
    changes: { 'Service:UpstreamIdp:MetadataUrl': `https://${MARK}.example/meta` },
    names: ['Service:UpstreamIdp:Issuer'],
  },
  ...(['UsersUrl', 'TokenUrl', 'ClientId', 'CacheTtl'] as const).map((field) => ({
    title: `${field} of the sponsor check under signals`,
    changes: {
      ...signalsMode,
      [`Service:UpstreamIdp:SponsorCheck:${field}`]: field === 'CacheTtl' ? '00:00:17' : `https://${MARK}.example`,
    },
    names: [`Service:UpstreamIdp:SponsorCheck:${field}`],
  })),
  {
    title: 'answers about a person that outlive tokens',
    changes: { 'Service:UpstreamIdp:SponsorCheck:CacheTtl': '00:17:19' },
    names: ['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
  },
  {
    title: 'tokens shorter than the answers about a person that are reused by default',
    changes: { 'Service:Tokens:DefaultTokenTtl': '00:00:29', 'Service:Agents:MinTokenTtl': '00:00:09' },
    names: ['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
  },
  {
    title: 'a path on Postgres',
    changes: { 'Service:Database:Path': `/var/${MARK}.db` },
    names: ['Service:Database:Path'],
  },
  {
    title: 'no path on SQLite',
    changes: { ...onSqlite, 'Service:Database:Path': '' },
    names: ['Service:Database:Path'],
  },
  ...(['ConnectionString', 'MigrationConnectionString'] as const).map((field) => ({
    title: `${field} on SQLite`,
    changes: { ...onSqlite, [`Service:Database:${field}`]: `postgresql://user:${MARK}@db/mandate` },
    names: [`Service:Database:${field}`],
  })),
  {
    title: 'a retention on SQLite',
    changes: { ...onSqlite, 'Service:Audit:Retention': 'P9182D' },
    names: ['Service:Audit:Retention'],
  },
  {
    title: 'partitions on SQLite',
    changes: { ...onSqlite, 'Service:Audit:Partitions:MonthsAhead': '11' },
    names: ['Service:Audit:Partitions:MonthsAhead'],
  },
  ...(['http://', undefined] as const).map((scheme) => ({
    title: `a token of the sink ${scheme === undefined ? 'that is nowhere' : 'over http'}`,
    changes: {
      'Service:Audit:Sink:Url': scheme === undefined ? undefined : `${scheme}${MARK}.example`,
      'Service:Audit:Sink:BearerToken': `${MARK}-sink-token`,
    },
    names: ['Service:Audit:Sink:BearerToken'],
  })),
  ...(['PreviousBearerToken', 'SponsorKeyAttribute', 'MaxUsers'] as const).map((field) => ({
    title: `${field} of provisioning that has no token`,
    changes: {
      [`Service:Scim:${field}`]: {
        PreviousBearerToken: `${MARK}-${'p'.repeat(32)}`,
        SponsorKeyAttribute: 'userName',
        MaxUsers: '91827',
      }[field],
    },
    names: [`Service:Scim:${field}`],
  })),
  {
    title: 'a previous token of provisioning that is the current one',
    changes: {
      'Service:Scim:BearerToken': `${MARK}-${'s'.repeat(32)}`,
      'Service:Scim:PreviousBearerToken': `${MARK}-${'s'.repeat(32)}`,
    },
    names: ['Service:Scim:PreviousBearerToken'],
  },
  ...(['Audience', 'BearerToken'] as const).flatMap((field) => [
    {
      title: `a transmitter without its ${field}`,
      changes: { ...SSF, [`Service:Ssf:${field}`]: undefined },
      names: [`Service:Ssf:${field}`],
    },
    {
      title: `${field} of no transmitter`,
      changes: { [`Service:Ssf:${field}`]: SSF[`Service:Ssf:${field}`] },
      names: [`Service:Ssf:${field}`],
    },
  ]),
  {
    title: 'a previous token of no transmitter',
    changes: { 'Service:Ssf:PreviousBearerToken': `${MARK}-${'p'.repeat(32)}` },
    names: ['Service:Ssf:PreviousBearerToken'],
  },
  {
    title: 'a previous token of the transmitter that is the current one',
    changes: { ...SSF, 'Service:Ssf:PreviousBearerToken': SSF['Service:Ssf:BearerToken'] },
    names: ['Service:Ssf:PreviousBearerToken'],
  },
  {
    title: 'a key by path and by text',
    changes: { 'Service:Signing:Keys:0:Pem': PEM },
    names: ['Service:Signing:Keys:0:Path'],
  },
  {
    title: 'a key by neither',
    changes: { 'Service:Signing:Keys:4:Kid': `${MARK}-kid`, 'Service:Signing:ActiveKid': `${MARK}-kid` },
    names: ['Service:Signing:Keys:4:Path'],
  },
  {
    title: 'two keys of which none is said to sign',
    changes: { 'Service:Signing:Keys:1:Pem': USABLE_KEY },
    names: ['Service:Signing:ActiveKid'],
  },
  {
    title: 'two keys of one name',
    changes: {
      'Service:Signing:Keys:0:Kid': `${MARK}-kid`,
      'Service:Signing:Keys:1:Kid': `${MARK}-kid`,
      'Service:Signing:Keys:1:Pem': USABLE_KEY,
      'Service:Signing:ActiveKid': `${MARK}-kid`,
    },
    names: ['Service:Signing:Keys:1:Kid'],
  },
  {
    title: 'a key that is said to sign and is none of them',
    changes: { 'Service:Signing:Keys:0:Kid': `${MARK}-kid`, 'Service:Signing:ActiveKid': `${MARK}-other` },
    names: ['Service:Signing:ActiveKid'],
  },
  {
    title: 'a key that is said to sign where there is none',
    changes: {
      NODE_ENV: 'development',
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:ActiveKid': `${MARK}-kid`,
    },
    names: ['Service:Signing:ActiveKid'],
  },
  {
    title: 'tokens that outlive their task by default',
    changes: { 'Service:Tokens:DefaultTaskTtl': '00:04:17' },
    names: ['Service:Tokens:DefaultTokenTtl'],
  },
  {
    title: 'a shortest task beyond the longest',
    changes: {
      'Service:Agents:MinTaskTtl': '00:41:17',
      'Service:Agents:MaxTaskTtl': '00:41:16',
      'Service:Tokens:DefaultTaskTtl': '00:41:16',
    },
    names: ['Service:Agents:MinTaskTtl', 'Service:Tokens:DefaultTaskTtl'],
  },
  {
    title: 'a shortest token beyond the longest',
    changes: {
      'Service:Agents:MinTokenTtl': '00:00:58',
      'Service:Agents:MaxTokenTtl': '00:00:57',
      'Service:Tokens:DefaultTokenTtl': '00:00:57',
    },
    names: ['Service:Agents:MinTokenTtl', 'Service:Tokens:DefaultTokenTtl'],
  },
  {
    title: 'a shortest token beyond the shortest task',
    changes: { 'Service:Agents:MinTokenTtl': '00:01:17' },
    names: ['Service:Agents:MinTokenTtl'],
  },
  {
    title: 'a default task beyond the longest',
    changes: { 'Service:Tokens:DefaultTaskTtl': '3.17:19:23' },
    names: ['Service:Tokens:DefaultTaskTtl'],
  },
  {
    title: 'a default task below the shortest',
    changes: { 'Service:Agents:MinTaskTtl': '00:41:17' },
    names: ['Service:Tokens:DefaultTaskTtl'],
  },
  {
    title: 'a default token beyond the longest',
    changes: { 'Service:Agents:MaxTokenTtl': '00:04:17' },
    names: ['Service:Tokens:DefaultTokenTtl'],
  },
  {
    title: 'a default token below the shortest',
    changes: { 'Service:Agents:MinTokenTtl': '00:06:17', 'Service:Agents:MinTaskTtl': '00:06:17' },
    names: ['Service:Tokens:DefaultTokenTtl'],
  },
  ...['', 'Introspection:', 'Signals:'].map((bucket) => ({
    title: `a burst of ${bucket}RateLimit that is less than a second of its rate`,
    changes: {
      [`Service:RateLimit:${bucket}PermitsPerMinute`]: '918241',
      [`Service:RateLimit:${bucket}Burst`]: '15304',
    },
    names: [`Service:RateLimit:${bucket}Burst`],
  })),
  {
    title: 'metrics on the port that serves',
    changes: { 'Service:Metrics:Port': '9182', PORT: '9182' },
    names: ['Service:Metrics:Port'],
  },
  ...Object.keys(removedSettings).map((key) => ({
    title: `${key}, which was removed`,
    changes: { [key]: MARK },
    names: [key],
  })),
];

const commandLine: readonly WrongConfiguration[] = [
  {
    title: 'a wrong value on the command line over a right one',
    changes: {},
    overrides: [{ key: 'Service:Issuer', value: MARK }],
    names: ['Service:Issuer'],
  },
  {
    title: 'nothing on the command line over a right value',
    changes: {},
    overrides: [{ key: 'Service:UpstreamIdp:Audience', value: '' }],
    names: ['Service:UpstreamIdp:Audience'],
  },
  {
    title: 'a setting twice on the command line',
    changes: {},
    overrides: [
      { key: 'Service:Issuer', value: `https://${MARK}.example` },
      { key: 'Service:Issuer', value: `https://${MARK}.example` },
    ],
    names: ['Service:Issuer'],
  },
  {
    title: 'a port of the command line that is none',
    changes: {},
    overrides: [{ key: 'PORT', value: MARK }],
    names: ['PORT'],
  },
  {
    title: 'a removed setting on the command line',
    changes: {},
    overrides: [{ key: 'Service:Audit:Chains', value: MARK }],
    names: ['Service:Audit:Chains'],
  },
];

const atOnce: readonly WrongConfiguration[] = [
  {
    title: 'everything that can be wrong by itself, at once',
    changes: Object.fromEntries(
      entries
        .filter(([key]) => /^Service:(Issuer|Tasks|Audit:Dr|Admin|Tokens|RateLimit)/.test(key))
        .map(([key]) => [key, `${MARK} wrong`]),
    ),
    names: entries
      .map(([key]) => key)
      .filter((key) => /^Service:(Issuer|Tasks|Audit:Dr|Admin|Tokens|RateLimit)/.test(key)),
  },
];

export const wrongConfigurations: readonly WrongConfiguration[] = [
  ...unreadable,
  ...outOfBounds,
  ...missing,
  ...together,
  ...commandLine,
  ...atOnce,
];
