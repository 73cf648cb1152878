/**
 * Configurations that the service refuses at start: changes to valid settings, and the keys that the error must name.
 * The values are unusual texts, so that a test finds them in any message.
 */

import { catalogue, removedSettings } from '../../../composition/settings/catalogue.ts';
import { keyAt } from '../../../composition/settings/given-settings.ts';
import type { Setting } from '../../../composition/settings/setting.ts';
import { NOTE_KEY, WITNESS_KEYS } from '../../support/note-vectors.ts';
import { OFF_CURVE_KEY, P256_KEY } from '../../support/registrations.ts';
import { brokenRules, MARK, transmitter, withConsole } from './broken-rules.ts';
import { onSqlite, type Texts } from './sources.ts';

export interface WrongConfiguration {
  readonly title: string;
  /** The changes to valid settings. `undefined` removes a setting. */
  readonly changes: Texts;
  /** Settings on the command line. */
  readonly overrides?: readonly { readonly key: string; readonly value: string }[];
  /** The keys that the error must name, and no others. */
  readonly names: readonly string[];
}

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

/** For some settings: the others that must change too, so that only the tested value is wrong. */
const COMPANY: Readonly<Record<string, Texts>> = {
  'Service:UpstreamIdp:MetadataUrl': { 'Service:UpstreamIdp:Issuer': undefined },
  'Service:UpstreamIdp:SponsorCheck:BearerToken': {
    'Service:UpstreamIdp:SponsorCheck:TokenUrl': undefined,
    'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
  },
  'Service:Database:Path': { ...onSqlite },
  'Service:Signing:Keys:0:Pem': { 'Service:Signing:Keys:0:Path': undefined },
  ...Object.fromEntries(
    ['PreviousBearerToken', 'SponsorKeyAttribute', 'MaxUsers'].map((field) => [
      `Service:Scim:${field}`,
      { 'Service:Scim:BearerToken': `${MARK}-scim-${'s'.repeat(32)}` },
    ]),
  ),
  ...Object.fromEntries(
    ['Issuer', 'Audience', 'BearerToken', 'PreviousBearerToken'].map((field) => [`Service:Ssf:${field}`, transmitter]),
  ),
  ...Object.fromEntries(
    ['JwksUri', 'Jwks'].map((field) => [
      `Service:Approvals:Resources:0:${field}`,
      { 'Service:Approvals:Resources:0:Audience': `https://${MARK}-tools.example` },
    ]),
  ),
  'Service:Console:Port': withConsole,
  'Service:Authorize:ClientId': { 'Service:Me:ClientId': `${MARK}-page` },
  'Service:Audit:Sink:BearerToken': { 'Service:Audit:Sink:Url': `https://${MARK}-sink.example` },
};

/** Invalid texts, for each kind of description of the accepted texts. */
const UNREADABLE: readonly (readonly [RegExp, Readonly<Record<string, string>>])[] = [
  [
    /^an absolute http/,
    {
      'text that is not a URL': `${MARK}.example`,
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
      'a duration of zero': 'P0DT00H000M',
      'a fraction': 'PT91.827S',
      'minutes over 59': '00:91:27',
      'a negative value': '-PT9182S',
    },
  ],
  [
    /^a whole number/,
    {
      words: MARK,
      'a fraction': '918273.64',
      'a negative value': '-91827364',
      'an exponent': '9182e7364',
      'a value over its maximum': '918273645918',
    },
  ],
  [/^`true` or/, { 'a word': 'True-91827', 'a number': '91827364' }],
  [/^`(poll|postgres|externalId)`/, { 'another word': MARK, 'other letter case': 'POLL-91827' }],
  [
    /characters: letters, digits/,
    {
      'white space': `${MARK} ${'x'.repeat(32)}`,
      'an accent': `${MARK}-é-${'x'.repeat(32)}`,
      'a text over 2048 characters': MARK.repeat(200),
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
  [
    /^a witness's verifier key/,
    {
      words: MARK,
      'a key with another id': (WITNESS_KEYS[0] ?? '').replace(/[+][0-9a-f]{8}[+]/, '+00918273+'),
      'a key that signs plain notes': NOTE_KEY,
      'a name with a zero-width space': (WITNESS_KEYS[0] ?? '').replace('+', '\u200b+'),
    },
  ],
  [
    /^the JSON text of a key set/,
    {
      words: MARK,
      'a key with a private member': JSON.stringify({ keys: [{ ...P256_KEY, d: MARK }] }),
      'a point that is not on its curve': JSON.stringify({ keys: [{ ...OFF_CURVE_KEY, kid: MARK }] }),
    },
  ],
  [
    /^the text of a PEM/,
    { 'a path': `/run/${MARK}.pem`, 'a PEM without an end': `-----BEGIN PRIVATE KEY-----\n${MARK}` },
  ],
  [
    /^(text of|the path|a claim name|a name of|a host name)/,
    {
      'a line break': `${MARK}\nmore`,
      'white space at its end': `${MARK} `,
      'a text over 2048 characters': MARK.repeat(200),
    },
  ],
  [/^(a claim name|a name of|a host name)/, { 'two words': `${MARK} two` }],
  [
    /^a name of .* plus/,
    { 'a zero-width space': `${MARK}\u200b`, 'a bidirectional control': `${MARK}\u202e`, 'a plus': `${MARK}+` },
  ],
  [
    /network|CIDR/i,
    { 'a name': `${MARK}.example`, 'every address': '10.91.82.0/24,0.0.0.0/0', 'too long a prefix': '10.91.82.0/33' },
  ],
];

/** Every setting with each of its kinds of invalid text. */
const unreadable: readonly WrongConfiguration[] = entries.flatMap(([declared, { type }]) => {
  const key = keyAt(declared, 0, 'audience');
  // NODE_ENV accepts every text.
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
  texts.map((text) => ({ title: `${key} over its bounds`, changes: { [key]: text }, names: [key] })),
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

/** Settings that are not valid together, and removed settings. */
const together: readonly WrongConfiguration[] = [
  ...brokenRules.map(([title, changes, ...errors]) => ({
    title,
    changes,
    names: [...new Set(errors.map((error) => error.slice(0, error.indexOf(': '))))],
  })),
  ...Object.keys(removedSettings).map((key) => ({
    title: `${key}, which was removed`,
    changes: { [key]: MARK },
    names: [key],
  })),
];

const commandLine: readonly WrongConfiguration[] = [
  {
    title: 'a wrong value on the command line over a right variable',
    changes: {},
    overrides: [{ key: 'Service:Issuer', value: MARK }],
    names: ['Service:Issuer'],
  },
  {
    title: 'an empty value on the command line over a right variable',
    changes: {},
    overrides: [{ key: 'Service:UpstreamIdp:Audience', value: '' }],
    names: ['Service:UpstreamIdp:Audience'],
  },
  {
    title: 'a repeated setting on the command line',
    changes: {},
    overrides: [
      { key: 'Service:Issuer', value: `https://${MARK}.example` },
      { key: 'Service:Issuer', value: `https://${MARK}.example` },
    ],
    names: ['Service:Issuer'],
  },
  {
    title: 'a wrong PORT on the command line',
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
    title: 'many settings that are all unreadable',
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
