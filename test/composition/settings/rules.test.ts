import { expect } from 'chai';
import { rules } from '../../../composition/settings/rules.ts';
import { errorsWith, onSqlite, PEM, signalsMode, type Texts } from './sources.ts';

interface Case {
  readonly title: string;
  readonly changes: Texts;
  readonly errors: readonly string[];
}

const refused: readonly Case[] = [
  ...['Service:RateLimit', 'Service:RateLimit:Introspection', 'Service:RateLimit:Signals'].map((bucket) => ({
    title: `a burst of ${bucket} that a second's worth of its rate does not fit into`,
    changes: { [`${bucket}:PermitsPerMinute`]: '601', [`${bucket}:Burst`]: '10' },
    errors: [`${bucket}:Burst: is less than one second's worth of ${bucket}:PermitsPerMinute`],
  })),
  ...['https://mandate.example/admin', 'https://mandate.example/agents/x', 'https://mandate.example/x/../admin/y'].map(
    (issuer) => ({
      title: `an issuer whose path is the service's own: ${issuer}`,
      changes: { 'Service:Issuer': issuer },
      errors: ['Service:Issuer: has a path under /admin or /agents, where the service itself answers'],
    }),
  ),
  {
    title: 'the identity provider named in both ways',
    changes: { 'Service:UpstreamIdp:MetadataUrl': 'https://idp.example/meta' },
    errors: ['Service:UpstreamIdp:Issuer: is set beside Service:UpstreamIdp:MetadataUrl'],
  },
  {
    title: 'the identity provider named in neither way',
    changes: { 'Service:UpstreamIdp:Issuer': undefined },
    errors: ['Service:UpstreamIdp:Issuer: is not set, nor is Service:UpstreamIdp:MetadataUrl'],
  },
  {
    title: 'a sponsor check by poll that does not say how to poll',
    changes: { ...signalsMode, 'Service:UpstreamIdp:SponsorCheck:Mode': 'poll' },
    errors: ['UsersUrl', 'TokenUrl', 'ClientId'].map(
      (name) =>
        `Service:UpstreamIdp:SponsorCheck:${name}: is required while Service:UpstreamIdp:SponsorCheck:Mode is poll`,
    ),
  },
  {
    title: 'settings of the sponsor check by poll under signals, a CacheTtl as long as the default included',
    changes: {
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT30S',
    },
    errors: ['UsersUrl', 'TokenUrl', 'ClientId', 'CacheTtl'].map(
      (name) =>
        `Service:UpstreamIdp:SponsorCheck:${name}: is set while Service:UpstreamIdp:SponsorCheck:Mode is signals`,
    ),
  },
  {
    title: 'answers about a person reused for longer than a token lives',
    changes: { 'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT5M1S' },
    errors: ['Service:UpstreamIdp:SponsorCheck:CacheTtl: is longer than Service:Tokens:DefaultTokenTtl'],
  },
  {
    title: 'logouts that are to be remembered where none are received',
    changes: { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true' },
    errors: [
      'Service:UpstreamIdp:BackchannelLogout:Audience: is required while Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut is true',
    ],
  },
  {
    title: 'Postgres without a connection string',
    changes: { 'Service:Database:ConnectionString': undefined },
    errors: ['Service:Database:ConnectionString: is required while Service:Database:Provider is postgres'],
  },
  {
    title: 'a path on Postgres',
    changes: { 'Service:Database:Path': '/var/lib/mandate.db' },
    errors: ['Service:Database:Path: is set while Service:Database:Provider is postgres'],
  },
  {
    title: 'SQLite without a path',
    changes: { ...onSqlite, 'Service:Database:Path': undefined },
    errors: ['Service:Database:Path: is required while Service:Database:Provider is sqlite'],
  },
  {
    title: 'connection strings on SQLite',
    changes: {
      ...onSqlite,
      'Service:Database:ConnectionString': 'postgresql://db/mandate',
      'Service:Database:MigrationConnectionString': 'postgresql://db/mandate',
    },
    errors: ['ConnectionString', 'MigrationConnectionString'].map(
      (name) => `Service:Database:${name}: is set while Service:Database:Provider is sqlite`,
    ),
  },
  {
    title: 'settings of provisioning without its credential, those as the default included',
    changes: {
      'Service:Scim:PreviousBearerToken': 'p'.repeat(32),
      'Service:Scim:SponsorKeyAttribute': 'externalId',
      'Service:Scim:MaxUsers': '50000',
    },
    errors: ['PreviousBearerToken', 'SponsorKeyAttribute', 'MaxUsers'].map(
      (name) => `Service:Scim:${name}: is set while Service:Scim:BearerToken is not`,
    ),
  },
  {
    title: 'a previous credential of provisioning that is the current one',
    changes: { 'Service:Scim:BearerToken': 's'.repeat(32), 'Service:Scim:PreviousBearerToken': 's'.repeat(32) },
    errors: ['Service:Scim:PreviousBearerToken: is the same as Service:Scim:BearerToken'],
  },
  {
    title: 'a transmitter without its audience and credential',
    changes: { 'Service:Ssf:Issuer': 'https://transmitter.example' },
    errors: ['Audience', 'BearerToken'].map(
      (name) => `Service:Ssf:${name}: is required while Service:Ssf:Issuer is set`,
    ),
  },
  {
    title: 'settings of a transmitter that is not named',
    changes: {
      'Service:Ssf:Audience': 'stream-7',
      'Service:Ssf:BearerToken': 's'.repeat(32),
      'Service:Ssf:PreviousBearerToken': 'p'.repeat(32),
    },
    errors: ['Audience', 'BearerToken', 'PreviousBearerToken'].map(
      (name) => `Service:Ssf:${name}: is set while Service:Ssf:Issuer is not`,
    ),
  },
  {
    title: 'a previous push credential that is the current one',
    changes: {
      'Service:Ssf:Issuer': 'https://transmitter.example',
      'Service:Ssf:Audience': 'stream-7',
      'Service:Ssf:BearerToken': 's'.repeat(32),
      'Service:Ssf:PreviousBearerToken': 's'.repeat(32),
    },
    errors: ['Service:Ssf:PreviousBearerToken: is the same as Service:Ssf:BearerToken'],
  },
  {
    title: 'push credentials of less than 32 characters',
    changes: {
      'Service:Ssf:Issuer': 'https://transmitter.example',
      'Service:Ssf:Audience': 'stream-7',
      'Service:Ssf:BearerToken': 's'.repeat(31),
      'Service:Ssf:PreviousBearerToken': 'p'.repeat(31),
    },
    errors: ['BearerToken', 'PreviousBearerToken'].map((name) => `Service:Ssf:${name}: is shorter than 32 characters`),
  },
  {
    title: 'what only a ledger in partitions can do on SQLite',
    changes: {
      ...onSqlite,
      'Service:Audit:Partitions:MonthsAhead': '3',
      'Service:Audit:Retention': 'P400D',
    },
    errors: ['Partitions:MonthsAhead', 'Retention'].map(
      (name) => `Service:Audit:${name}: is set while Service:Database:Provider is sqlite`,
    ),
  },
  {
    title: 'a token of the sink that would travel in the clear',
    changes: { 'Service:Audit:Sink:Url': 'http://sink.example/records', 'Service:Audit:Sink:BearerToken': 'abc' },
    errors: ['Service:Audit:Sink:BearerToken: is set while Service:Audit:Sink:Url is not an https URL'],
  },
  {
    title: 'a token for a sink that is nowhere',
    changes: { 'Service:Audit:Sink:BearerToken': 'abc' },
    errors: ['Service:Audit:Sink:BearerToken: is set while Service:Audit:Sink:Url is not an https URL'],
  },
  {
    title: 'a signing key by path and by text',
    changes: { 'Service:Signing:Keys:0:Pem': PEM },
    errors: ['Service:Signing:Keys:0:Path: is set beside Service:Signing:Keys:0:Pem'],
  },
  {
    title: 'a signing key by neither path nor text',
    changes: { 'Service:Signing:Keys:4:Kid': 'spring', 'Service:Signing:ActiveKid': 'spring' },
    errors: ['Service:Signing:Keys:4:Path: is not set, nor is Service:Signing:Keys:4:Pem'],
  },
  {
    title: 'no signing key outside a development host',
    changes: { 'Service:Signing:Keys:0:Path': undefined },
    errors: ['Service:Signing:Keys:0:Path: is not set, and neither is any other signing key'],
  },
  {
    title: 'several signing keys of which none is said to sign',
    changes: { 'Service:Signing:Keys:1:Path': '/run/secrets/next.pem' },
    errors: ['Service:Signing:ActiveKid: is required while there is more than one signing key'],
  },
  {
    title: 'two signing keys of one name',
    changes: {
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:1:Kid': 'spring',
      'Service:Signing:Keys:1:Path': '/run/secrets/next.pem',
      'Service:Signing:ActiveKid': 'spring',
    },
    errors: ['Service:Signing:Keys:1:Kid: names another signing key as well'],
  },
  {
    title: 'an active key that is none of the named ones',
    changes: { 'Service:Signing:Keys:0:Kid': 'spring', 'Service:Signing:ActiveKid': 'summer' },
    errors: ['Service:Signing:ActiveKid: does not name a signing key'],
  },
  {
    title: 'an active key where there is none at all',
    changes: {
      NODE_ENV: 'development',
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:ActiveKid': 'summer',
    },
    errors: ['Service:Signing:ActiveKid: does not name a signing key'],
  },
  {
    title: 'tokens that outlive their task by default',
    changes: { 'Service:Tokens:DefaultTaskTtl': 'PT4M' },
    errors: ['Service:Tokens:DefaultTokenTtl: is longer than Service:Tokens:DefaultTaskTtl'],
  },
  {
    title: 'a shortest task longer than the longest',
    changes: { 'Service:Agents:MinTaskTtl': 'PT20M', 'Service:Agents:MaxTaskTtl': 'PT19M' },
    errors: [
      'Service:Agents:MinTaskTtl: is longer than Service:Agents:MaxTaskTtl',
      'Service:Tokens:DefaultTaskTtl: is longer than Service:Agents:MaxTaskTtl',
    ],
  },
  {
    title: 'a shortest token longer than the longest',
    changes: { 'Service:Agents:MinTokenTtl': 'PT60S', 'Service:Agents:MaxTokenTtl': 'PT59S' },
    errors: [
      'Service:Agents:MinTokenTtl: is longer than Service:Agents:MaxTokenTtl',
      'Service:Tokens:DefaultTokenTtl: is longer than Service:Agents:MaxTokenTtl',
    ],
  },
  {
    title: 'a shortest token longer than the shortest task',
    changes: { 'Service:Agents:MinTokenTtl': 'PT1M1S' },
    errors: ['Service:Agents:MinTokenTtl: is longer than Service:Agents:MinTaskTtl'],
  },
  {
    title: 'a default task longer than the bounds',
    changes: { 'Service:Tokens:DefaultTaskTtl': 'P1DT1S' },
    errors: ['Service:Tokens:DefaultTaskTtl: is longer than Service:Agents:MaxTaskTtl'],
  },
  {
    title: 'a default task shorter than the bounds',
    changes: { 'Service:Agents:MinTaskTtl': 'PT31M' },
    errors: ['Service:Tokens:DefaultTaskTtl: is shorter than Service:Agents:MinTaskTtl'],
  },
  {
    title: 'a default token longer than the bounds',
    changes: { 'Service:Agents:MaxTokenTtl': 'PT4M' },
    errors: ['Service:Tokens:DefaultTokenTtl: is longer than Service:Agents:MaxTokenTtl'],
  },
  {
    title: 'a default token shorter than the bounds',
    changes: { 'Service:Agents:MinTokenTtl': 'PT6M', 'Service:Agents:MinTaskTtl': 'PT10M' },
    errors: ['Service:Tokens:DefaultTokenTtl: is shorter than Service:Agents:MinTokenTtl'],
  },
  {
    title: 'metrics on the port that serves',
    changes: { 'Service:Metrics:Port': '5100' },
    errors: ['Service:Metrics:Port: is the same as PORT'],
  },
];

const accepted: readonly (readonly [string, Texts])[] = [
  ['metrics on a port of their own, wherever the service listens', { 'Service:Metrics:Port': '5101', PORT: '0' }],
  ['poll mode on Postgres with one signing key', {}],
  [
    'the discovery document in place of the issuer',
    { 'Service:UpstreamIdp:Issuer': undefined, 'Service:UpstreamIdp:MetadataUrl': 'https://idp.example/meta' },
  ],
  ['the sponsor check by signals', signalsMode],
  [
    'tokens so short that the unused CacheTtl exceeds them, under signals',
    {
      ...signalsMode,
      'Service:Tokens:DefaultTokenTtl': 'PT20S',
      'Service:Agents:MinTokenTtl': 'PT10S',
    },
  ],
  ['answers reused for as long as a token lives', { 'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT5M' }],
  ['SQLite', onSqlite],
  ['a retention on Postgres', { 'Service:Audit:Retention': 'P31D' }],
  [
    'two credentials of provisioning',
    { 'Service:Scim:BearerToken': 's'.repeat(32), 'Service:Scim:PreviousBearerToken': 'p'.repeat(32) },
  ],
  [
    'a transmitter with two credentials',
    {
      'Service:Ssf:Issuer': 'https://transmitter.example',
      'Service:Ssf:Audience': 'stream-7',
      'Service:Ssf:BearerToken': 's'.repeat(32),
      'Service:Ssf:PreviousBearerToken': 'p'.repeat(32),
    },
  ],
  ['back-channel logout', { 'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk' }],
  ['logouts that are not remembered', { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'false' }],
  ['a sink without a token', { 'Service:Audit:Sink:Url': 'http://sink.example/records' }],
  [
    'a token for a sink behind https, whatever the case of its scheme',
    { 'Service:Audit:Sink:Url': 'HTTPS://sink.example/records?source=mandate', 'Service:Audit:Sink:BearerToken': 'a' },
  ],
  ['a development host without a signing key', { NODE_ENV: 'development', 'Service:Signing:Keys:0:Path': undefined }],
  [
    'one signing key that is also said to sign',
    { 'Service:Signing:Keys:0:Kid': 'a', 'Service:Signing:ActiveKid': 'a' },
  ],
  [
    'an active key that may be the thumbprint of one without a name',
    {
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:1:Pem': PEM,
      'Service:Signing:ActiveKid': 'aThumbprint',
    },
  ],
  [
    "bursts of just one second's worth of their rates",
    Object.fromEntries(
      ['Service:RateLimit', 'Service:RateLimit:Introspection', 'Service:RateLimit:Signals'].flatMap((bucket) => [
        [`${bucket}:PermitsPerMinute`, '601'],
        [`${bucket}:Burst`, '11'],
      ]),
    ),
  ],
  [
    'bounds that all meet',
    {
      'Service:Tokens:DefaultTaskTtl': 'PT5M',
      'Service:Agents:MinTaskTtl': 'PT5M',
      'Service:Agents:MaxTaskTtl': 'PT5M',
      'Service:Agents:MinTokenTtl': 'PT5M',
      'Service:Agents:MaxTokenTtl': 'PT5M',
    },
  ],
];

describe('The rules between settings', () => {
  for (const { title, changes, errors } of refused) {
    it(`refuse ${title}`, () => expect(errorsWith(changes)).to.deep.equal(errors));
  }

  for (const [title, changes] of accepted) {
    it(`accept ${title}`, () => expect(errorsWith(changes)).to.deep.equal([]));
  }

  it('compare only settings whose values they were promised', () => {
    // A rule that read another one would be asked while that one is unreadable, and see `undefined`.
    for (const rule of rules) {
      const read: string[] = [];
      const promised = new Proxy({}, { get: (_target, key) => read.push(String(key)) && undefined });
      try {
        rule.check(promised as never, {
          given: () => true,
          numbers: () => [0, 1],
          wrong() {},
          expect() {},
          refuse() {},
        });
      } catch {
        // A list that is undefined cannot be walked; what was asked for before that counts.
      }
      expect(rule.about.map(String)).to.include.members(read);
    }
  });
});
