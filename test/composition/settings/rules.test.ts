import { expect } from 'chai';
import { rules } from '../../../composition/settings/rules.ts';
import { type BrokenRule, brokenRules } from './broken-rules.ts';
import { door, errorsWith, onSqlite, PEM, signalsMode, type Texts } from './sources.ts';

/** Cases in which a rule refuses the settings because a value is absent. */
const incomplete: readonly BrokenRule[] = [
  [
    'neither an issuer nor a metadata URL of the identity provider',
    { 'Service:UpstreamIdp:Issuer': undefined },
    'Service:UpstreamIdp:Issuer: is not set, nor is Service:UpstreamIdp:MetadataUrl',
  ],
  [
    'RefuseLoggedOut without an audience of logout tokens',
    { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true' },
    'Service:UpstreamIdp:BackchannelLogout:Audience: is required while Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut is true',
  ],
  [
    'EndTasksWithoutSession without an audience of logout tokens',
    { 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': 'true' },
    'Service:UpstreamIdp:BackchannelLogout:Audience: is required while Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession is true',
  ],
  [
    'Postgres without a connection string',
    { 'Service:Database:ConnectionString': undefined },
    'Service:Database:ConnectionString: is required while Service:Database:Provider is postgres',
  ],
  [
    'no signing key outside a development host',
    { 'Service:Signing:Keys:0:Path': undefined },
    'Service:Signing:Keys:0:Path: is not set, and neither is any other signing key',
  ],
];

const accepted: readonly (readonly [string, Texts])[] = [
  ['metrics on another port, also when the service chooses its port', { 'Service:Metrics:Port': '5101', PORT: '0' }],
  [
    'a console on a loopback address of a development host',
    {
      NODE_ENV: 'development',
      'Service:Operators:ClientId': 'console',
      'Service:Operators:Roles:Viewer': 'v',
      'Service:Console:Port': '5200',
      'Service:Console:Origin': 'http://127.0.0.1:5200',
    },
  ],
  ['poll mode on Postgres with one signing key', {}],
  [
    'a metadata URL instead of the issuer',
    { 'Service:UpstreamIdp:Issuer': undefined, 'Service:UpstreamIdp:MetadataUrl': 'https://idp.example/meta' },
  ],
  ['the sponsor check by signals', signalsMode],
  [
    'a token lifetime below the default CacheTtl while the sponsor check uses signals',
    { ...signalsMode, 'Service:Tokens:DefaultTokenTtl': 'PT20S', 'Service:Agents:MinTokenTtl': 'PT10S' },
  ],
  ['a CacheTtl that equals the token lifetime', { 'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT5M' }],
  ['SQLite', onSqlite],
  ['a retention on Postgres', { 'Service:Audit:Retention': 'P31D' }],
  [
    'two SCIM credentials',
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
  [
    'RefuseLoggedOut false without back-channel logout',
    { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'false' },
  ],
  [
    'operators of whom two roles have one value',
    {
      'Service:Operators:Audience': 'operators',
      'Service:Operators:Roles:Registrar': 'ops',
      'Service:Operators:Roles:Responder': 'ops',
    },
  ],
  [
    'clients of one name for the page and for the console, at two providers',
    {
      'Service:Me:ClientId': 'one-name',
      'Service:Operators:ClientId': 'one-name',
      'Service:Operators:Issuer': 'https://staff.example',
      'Service:Operators:Roles:Viewer': 'v',
    },
  ],
  [
    'clients of one name for tasks that people start and for the console, at two providers, and one for tasks and their logouts',
    {
      ...door,
      'Service:UpstreamIdp:BackchannelLogout:Audience': 'door',
      'Service:Operators:ClientId': 'door',
      'Service:Operators:Issuer': 'https://staff.example',
      'Service:Operators:Roles:Viewer': 'v',
    },
  ],
  [
    'every setting of tasks that people start',
    {
      ...door,
      'Service:Authorize:PublicClients': 'true',
      'Service:Authorize:Registration': 'known',
      'Service:Authorize:RequestTtl': 'PT1M',
      'Service:Authorize:CodeTtl': 'PT5M',
      'Service:Authorize:MaxAuthAge': 'PT1M',
      'Service:Authorize:ProviderParameters:resource': 'https://mandate.example',
      'Service:Authorize:ProviderParameters:acr_values': 'silver',
    },
  ],
  ['a sink without a token', { 'Service:Audit:Sink:Url': 'http://sink.example/records' }],
  [
    'a token for a sink whose scheme is HTTPS in capitals',
    { 'Service:Audit:Sink:Url': 'HTTPS://sink.example/records?source=mandate', 'Service:Audit:Sink:BearerToken': 'a' },
  ],
  ['a development host without a signing key', { NODE_ENV: 'development', 'Service:Signing:Keys:0:Path': undefined }],
  [
    'one signing key that is also the active one',
    { 'Service:Signing:Keys:0:Kid': 'a', 'Service:Signing:ActiveKid': 'a' },
  ],
  [
    'an active kid that may be the thumbprint of a key without a kid',
    {
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:1:Pem': PEM,
      'Service:Signing:ActiveKid': 'aThumbprint',
    },
  ],
  [
    "bursts of exactly one second's worth of their rates",
    Object.fromEntries(
      ['Service:RateLimit', 'Service:RateLimit:Introspection', 'Service:RateLimit:Signals'].flatMap((bucket) => [
        [`${bucket}:PermitsPerMinute`, '601'],
        [`${bucket}:Burst`, '11'],
      ]),
    ),
  ],
  [
    'lifetimes that all equal their bounds',
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
  for (const [title, changes, ...errors] of [...brokenRules, ...incomplete]) {
    it(`refuse ${title}`, () => expect(errorsWith(changes)).to.deep.equal(errors));
  }

  for (const [title, changes] of accepted) {
    it(`accept ${title}`, () => expect(errorsWith(changes)).to.deep.equal([]));
  }

  it('read only the settings that they declare', () => {
    // An undeclared setting may be invalid, and the rule would then read `undefined`.
    for (const rule of rules) {
      const read: string[] = [];
      const declared = new Proxy({}, { get: (_target, key) => read.push(String(key)) && undefined });
      try {
        rule.check(declared as never, {
          given: () => true,
          numbers: () => [0, 1],
          names: () => ['audience', 'scope'],
          wrong() {},
          expect() {},
          refuse() {},
        });
      } catch {
        // The rule may iterate over an absent list and throw. Its reads up to then are enough.
      }
      expect(rule.about.map(String)).to.include.members(read);
    }
  });
});
