import { availableParallelism } from 'node:os';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { parseNetwork } from '../../../adapters/http/admission/request-source.ts';
import { formatVerifierKey } from '../../../domain/log/verifier-key.ts';
import { Secret } from '../../../domain/secret.ts';
import { WITNESS_KEYS } from '../../support/note-vectors.ts';
import { errorsWith, PEM, validWith } from './sources.ts';

const revealed = (value: unknown) => (value instanceof Secret ? value.reveal() : value);

/** A text, the value that the setting reads from it, and the default unless the setting is required. */
type Row = readonly [text: string | undefined, value: unknown, byDefault?: unknown];

const PROXIES = [parseNetwork('10.0.0.0/8'), parseNetwork('2001:db8::/32')];
const IDP = 'https://idp.example';
const everySetting: Readonly<Record<string, Row>> = {
  'Service:Issuer': ['https://mandate.example/tenant/', 'https://mandate.example/tenant'],
  'Service:Secrets:Path': ['/run/secrets/mandate', '/run/secrets/mandate', undefined],
  'Service:UpstreamIdp:Issuer': [undefined, undefined],
  'Service:UpstreamIdp:MetadataUrl': ['https://idp.example/meta?p=policy', 'https://idp.example/meta?p=policy'],
  'Service:UpstreamIdp:Audience': ['mandate', 'mandate'],
  'Service:UpstreamIdp:SponsorKeyClaim': ['oid', 'oid', 'sub'],
  'Service:UpstreamIdp:SponsorCheck:Mode': [undefined, 'poll', 'poll'],
  'Service:UpstreamIdp:SponsorCheck:UsersUrl': [`${IDP}/users`, `${IDP}/users`],
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': [`${IDP}/token`, `${IDP}/token`],
  'Service:UpstreamIdp:SponsorCheck:ClientId': ['a-poller', 'a-poller'],
  'Service:UpstreamIdp:SponsorCheck:Scope': ['users:read groups', 'users:read groups', undefined],
  'Service:UpstreamIdp:SponsorCheck:BearerToken': [undefined, undefined, undefined],
  'Service:UpstreamIdp:ScopeClaim': ['permissions', 'permissions', undefined],
  'Service:UpstreamIdp:RefuseBoundTokens': ['true', true, false],
  'Service:UpstreamIdp:ClientAssertionAudience': ['token_endpoint', 'token_endpoint', 'issuer'],
  'Service:UpstreamIdp:SponsorCheck:CacheTtl': ['00:00:20', 20, 30],
  'Service:UpstreamIdp:BackchannelLogout:Audience': ['people-desk', 'people-desk', undefined],
  'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': ['true', true, false],
  'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': ['true', true, false],
  'Service:Ssf:Issuer': ['https://transmitter.example/tenant-7/', 'https://transmitter.example/tenant-7/', undefined],
  'Service:Ssf:Audience': ['https://mandate.example/stream 7', 'https://mandate.example/stream 7', undefined],
  'Service:Ssf:BearerToken': ['t'.repeat(32), 't'.repeat(32), undefined],
  'Service:Ssf:PreviousBearerToken': ['u'.repeat(32), 'u'.repeat(32), undefined],
  'Service:Database:Provider': [undefined, 'postgres', 'postgres'],
  'Service:Database:ConnectionString': ['postgresql://a:b@db/mandate', 'postgresql://a:b@db/mandate'],
  'Service:Database:MigrationConnectionString': ['postgresql://owner@db/mandate', 'postgresql://owner@db/mandate'],
  'Service:Database:Path': [undefined, undefined, undefined],
  'Service:Signing:ActiveKid': ['spring', 'spring', undefined],
  'Service:Admin:ApiKey': ['k'.repeat(32), 'k'.repeat(32), undefined],
  'Service:Operators:Audience': ['https://mandate.example/operators', 'https://mandate.example/operators', undefined],
  'Service:Operators:ClientId': ['console', 'console', undefined],
  'Service:Operators:ClientSecret:Path': ['/run/secrets/console', '/run/secrets/console', undefined],
  'Service:Operators:Issuer': ['https://staff.example', 'https://staff.example', undefined],
  'Service:Operators:RoleClaim': ['realm_access.roles', 'realm_access.roles', 'roles'],
  'Service:Operators:Roles:Viewer': ['mandate view', 'mandate view', undefined],
  'Service:Operators:Roles:Auditor': ['mandate audit', 'mandate audit', undefined],
  'Service:Operators:Roles:Registrar': ['mandate agents', 'mandate agents', undefined],
  'Service:Operators:Roles:Responder': ['mandate stop', 'mandate stop', undefined],
  'Service:Console:Port': ['5200', 5200, undefined],
  'Service:Console:Origin': ['https://console.example/', 'https://console.example', undefined],
  'Service:Operators:StopEverything': ['true', true, false],
  'Service:Operators:TwoPersonUnblock': ['true', true, false],
  'Service:Scim:BearerToken': ['s'.repeat(32), 's'.repeat(32), undefined],
  'Service:Scim:PreviousBearerToken': ['p'.repeat(32), 'p'.repeat(32), undefined],
  'Service:Scim:SponsorKeyAttribute': ['userName', 'userName', 'externalId'],
  'Service:Scim:MaxUsers': ['7', 7, 50_000],
  'Service:Tokens:DefaultTaskTtl': ['PT40M', 2400, 1800],
  'Service:Tokens:DefaultTokenTtl': ['PT4M', 240, 300],
  'Service:Agents:MinTaskTtl': ['PT2M', 120, 60],
  'Service:Agents:MaxTaskTtl': ['2.00:00:00', 172_800, 86_400],
  'Service:Agents:MinTokenTtl': ['PT40S', 40, 30],
  'Service:Agents:MaxTokenTtl': ['PT2H', 7200, 3600],
  'Service:AgentKeys:BlockPrivateNetworks': ['true', true, false],
  'Service:StatusLists:Enabled': ['true', true, false],
  'Service:StatusLists:Ttl': ['PT1M', 60, 5],
  'Service:StatusLists:Entries': ['1048576', 1_048_576, 131_072],
  'Service:Me:Audience': ['https://mandate.example/me', 'https://mandate.example/me', undefined],
  'Service:Me:ClientId': ['mandate-page', 'mandate-page', undefined],
  'Service:Me:ClientSecret:Path': ['/run/secrets/page', '/run/secrets/page', undefined],
  'Service:Me:SessionTtl': ['PT8H', 28_800, 900],
  'Service:Me:Pause': ['false', false, true],
  'Service:Me:ScopeDescriptions': ['/etc/scopes.yaml', '/etc/scopes.yaml', undefined],
  'Service:Tasks:SweepInterval': ['P1D', 86_400, 60],
  'Service:Tasks:SweepBatchSize': ['1000', 1000, 20],
  'Service:Tasks:Retention': ['PT1S', 1, 604_800],
  'Service:Audit:Aggregation:Enabled': ['false', false, true],
  'Service:Audit:Aggregation:Renewals': ['false', false, true],
  'Service:Audit:Aggregation:Window': ['PT15M', 900, 60],
  'Service:Audit:Checkpoint:Interval': ['PT1H', 3600, 60],
  'Service:Audit:Retention': ['P31D', 31 * 86_400, undefined],
  'Service:Audit:Sink:Url': ['https://sink.example/records?a=b', 'https://sink.example/records?a=b', undefined],
  'Service:Audit:Sink:BearerToken': ['sesame==', 'sesame==', undefined],
  'Service:Audit:DrainBatchSize': ['1000', 1000, 100],
  'Service:Audit:DrainInterval': ['00:00:01', 1, 5],
  'Service:Audit:Partitions:MonthsAhead': ['5', 5, 2],
  'Service:Audit:Log:Key:Path': ['/run/secrets/log.pem', '/run/secrets/log.pem', undefined],
  'Service:Audit:Log:Key:Pem': [undefined, undefined, undefined],
  'Service:Audit:Log:Origin': ['log.example/one', 'log.example/one', 'mandate.example/ledger'],
  'Service:Audit:Log:Public': ['true', true, false],
  'Service:Audit:Log:Quorum': ['2', 2, 0],
  'Service:Audit:Log:WitnessTimeout': ['PT1M', 60, 5],
  'Service:RateLimit:Enabled': ['false', false, true],
  'Service:RateLimit:PermitsPerMinute': ['61', 61, 600],
  'Service:RateLimit:Burst': ['2', 2, 120],
  'Service:RateLimit:Introspection:PermitsPerMinute': ['62', 62, 6000],
  'Service:RateLimit:Introspection:Burst': ['3', 3, 1200],
  'Service:RateLimit:Signals:PermitsPerMinute': ['63', 63, 6000],
  'Service:RateLimit:Signals:Burst': ['4', 4, 5000],
  'Service:RateLimit:TrustedProxies': ['10.0.0.0/8, 2001:db8::/32', PROXIES, undefined],
  'Service:Overload:Enabled': ['false', false, true],
  'Service:Overload:ConcurrencyLimit': ['5', 5, 16 * availableParallelism()],
  'Service:Overload:QueueLimit': ['0', 0, 64 * availableParallelism()],
  'Service:Overload:QueueTimeout': ['PT30S', 30, 1],
  'Service:Metrics:Port': ['9464', 9464, undefined],
  'Service:Traces:Enabled': ['true', true, false],
  HOST: ['10.0.0.1', '10.0.0.1'],
  PORT: ['0', 0, 5100],
  NODE_ENV: ['staging', 'staging'],
};

describe('The settings', () => {
  it('have the defaults of the specification', () => {
    const settings = new Map<string, unknown>(Object.entries(validWith({})));
    for (const [key, row] of Object.entries(everySetting)) {
      if (row.length === 3) expect(settings.get(key), key).to.equal(row[2]);
    }
  });

  it('default HOST to every address, and to loopback on a development host', () => {
    expect(validWith({}).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'production' }).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'Development' }).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'development' }).HOST).to.equal('127.0.0.1');
    expect(validWith({ NODE_ENV: 'development', HOST: '::1' }).HOST).to.equal('::1');
  });

  it("default the log's origin to the issuer's host, port and path, then /ledger", () => {
    const originOf = (issuer: string) => validWith({ 'Service:Issuer': issuer })['Service:Audit:Log:Origin'];
    expect(originOf('https://mandate.example:8443/tenant/')).to.equal('mandate.example:8443/tenant/ledger');
    expect(originOf('http://127.0.0.1')).to.equal('127.0.0.1/ledger');
  });

  it('default QueueLimit to four times ConcurrencyLimit', () => {
    expect(validWith({ 'Service:Overload:ConcurrencyLimit': '3' })['Service:Overload:QueueLimit']).to.equal(12);
  });

  it('are all read from the environment', () => {
    const settings = validWith({
      ...Object.fromEntries(Object.entries(everySetting).map(([key, [text]]) => [key, text])),
      'Service:Signing:Keys:0:Path': '/run/secrets/signing.pem',
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:10:Pem': PEM,
      'Service:Signing:Keys:2:Path': '/run/secrets/old.pem',
      'Service:Audit:Log:Witnesses:0:Url': 'https://w1.example/',
      'Service:Audit:Log:Witnesses:0:VKey': WITNESS_KEYS[0],
      'Service:Audit:Log:Witnesses:3:Url': 'http://127.0.0.1:9/w',
      'Service:Audit:Log:Witnesses:3:VKey': WITNESS_KEYS[1],
    });
    const { 'Service:Signing:Keys': keys, 'Service:Audit:Log:Witnesses': witnesses, ...others } = settings;
    expect(witnesses.map(({ index, Url, VKey }) => [index, Url, VKey && formatVerifierKey(VKey)])).to.deep.equal([
      [0, 'https://w1.example', WITNESS_KEYS[0]],
      [3, 'http://127.0.0.1:9/w', WITNESS_KEYS[1]],
    ]);
    const read = Object.entries(others).map(([key, value]) => [key, revealed(value)]);
    expect(read).to.have.deep.members(Object.entries(everySetting).map(([key, [, value]]) => [key, value]));
    expect(keys.map((key) => [key.index, key.Path, revealed(key.Pem), key.Kid])).to.deep.equal([
      [0, '/run/secrets/signing.pem', undefined, 'spring'],
      [2, '/run/secrets/old.pem', undefined, undefined],
      [10, undefined, PEM, undefined],
    ]);
  });

  it('keep the trailing slash of an upstream issuer, because issuers are compared character by character', () => {
    const settings = validWith({ 'Service:UpstreamIdp:Issuer': 'https://tenant.idp.example/' });
    expect(settings['Service:UpstreamIdp:Issuer']).to.equal('https://tenant.idp.example/');
  });

  it('count as unset if they are empty', () => {
    expect(validWith({ 'Service:Admin:ApiKey': '' })['Service:Admin:ApiKey']).to.equal(undefined);
    expect(validWith({ 'Service:Tokens:DefaultTaskTtl': '', PORT: '' })).to.deep.include({
      'Service:Tokens:DefaultTaskTtl': 1800,
      PORT: 5100,
    });
    expect(errorsWith({ 'Service:Issuer': '' })).to.deep.equal(['Service:Issuer: is required']);
    expect(errorsWith({ 'Service:Signing:Keys:1:Kid': '', 'Service:Audit:Chains': '' })).to.deep.equal([]);
  });

  it('show no secret if they are printed', () => {
    const settings = validWith({
      'Service:Admin:ApiKey': 'sesame'.repeat(6),
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:Keys:0:Pem': PEM,
    });
    const printed = `${inspect(settings, { depth: 9, showHidden: true })}${JSON.stringify(settings)}`;
    expect(printed).to.contain('[redacted]');
    for (const secret of ['sesame', 'hunter2', 'MIGHAgEA']) expect(printed).not.to.contain(secret);
  });
});
