import { expect } from 'chai';
import {
  databaseChoice,
  provisioningChoice,
  signingKeyChoices,
  sinkChoice,
  sponsorCheckChoice,
  transmitterChoice,
  upstreamChoice,
} from '../../../composition/settings/alternatives.ts';
import { onSqlite, PEM, signalsMode, validWith } from './sources.ts';

describe('databaseChoice', () => {
  it('returns the file of SQLite', () => {
    expect(databaseChoice(validWith(onSqlite))).to.deep.equal({ provider: 'sqlite', path: '/var/lib/mandate.db' });
  });

  it('returns the connection strings of both roles of Postgres, or one string for both', () => {
    const changes = { 'Service:Database:MigrationConnectionString': 'postgresql://owner@db.example/mandate' };
    expect([{}, changes].map((each) => uris(databaseChoice(validWith(each))))).to.deep.equal([
      ['postgresql://mandate:hunter2@db.example/mandate', 'postgresql://mandate:hunter2@db.example/mandate'],
      ['postgresql://mandate:hunter2@db.example/mandate', 'postgresql://owner@db.example/mandate'],
    ]);
  });

  function uris(database: ReturnType<typeof databaseChoice>): readonly string[] {
    if (database.provider === 'sqlite') return [];
    return [database.connectionString.reveal(), database.migrationConnectionString.reveal()];
  }
});

describe('upstreamChoice', () => {
  it('returns the issuer or the metadata URL of the identity provider', () => {
    const issuer = 'https://idp.example/realms/main';
    expect(upstreamChoice(validWith({}))).to.deep.equal({ kind: 'issuer', issuer });
    const url = 'https://m.example';
    const byMetadata = { 'Service:UpstreamIdp:Issuer': undefined, 'Service:UpstreamIdp:MetadataUrl': url };
    expect(upstreamChoice(validWith(byMetadata))).to.deep.equal({ kind: 'metadata_url', url });
  });
});

describe('sponsorCheckChoice', () => {
  it('returns the settings of mode poll, and none in mode signals', () => {
    expect(sponsorCheckChoice(validWith({ 'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT20S' }))).to.deep.equal({
      mode: 'poll',
      usersUrl: 'https://idp.example/admin/realms/main/users',
      access: {
        tokenUrl: 'https://idp.example/realms/main/token',
        clientId: 'mandate-poller',
        scope: undefined,
        assertionAudience: 'issuer',
      },
      cacheTtl: 20,
    });
    const scoped = validWith({
      'Service:UpstreamIdp:SponsorCheck:Scope': 'users:read',
      'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
    });
    expect(sponsorCheckChoice(scoped)).to.deep.nested.include({
      'access.scope': 'users:read',
      'access.assertionAudience': 'token_endpoint',
    });
    const byToken = sponsorCheckChoice(
      validWith({
        'Service:UpstreamIdp:SponsorCheck:TokenUrl': undefined,
        'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
        'Service:UpstreamIdp:SponsorCheck:BearerToken': 'b'.repeat(32),
      }),
    );
    if (byToken.mode !== 'poll' || !('bearerToken' in byToken.access)) throw new Error('not by a bearer token');
    expect(byToken.access.bearerToken.reveal()).to.equal('b'.repeat(32));
    expect(sponsorCheckChoice(validWith(signalsMode))).to.deep.equal({ mode: 'signals' });
  });
});

describe('sinkChoice', () => {
  it('returns the URL and the token of the sink, or nothing without a URL', () => {
    expect(sinkChoice(validWith({}))).to.equal(undefined);
    const url = 'https://sink.example/records';
    expect(sinkChoice(validWith({ 'Service:Audit:Sink:Url': url }))).to.deep.equal({ url, bearerToken: undefined });
    const both = sinkChoice(validWith({ 'Service:Audit:Sink:Url': url, 'Service:Audit:Sink:BearerToken': 'sesame' }));
    expect([both?.url, both?.bearerToken?.reveal()]).to.deep.equal([url, 'sesame']);
  });
});

describe('provisioningChoice', () => {
  it('returns the settings of SCIM with one or two credentials, or nothing without a credential', () => {
    expect(provisioningChoice(validWith({}))).to.equal(undefined);
    const [current, previous] = ['s'.repeat(32), 'p'.repeat(32)];
    const one = provisioningChoice(validWith({ 'Service:Scim:BearerToken': current }));
    expect(one).to.deep.include({ person: 'externalId', maxUsers: 50_000 });
    expect(one?.credentials.map((secret) => secret.reveal())).to.deep.equal([current]);
    const both = provisioningChoice(
      validWith({
        'Service:Scim:BearerToken': current,
        'Service:Scim:PreviousBearerToken': previous,
        'Service:Scim:SponsorKeyAttribute': 'userName',
        'Service:Scim:MaxUsers': '7',
      }),
    );
    expect(both).to.deep.include({ person: 'userName', maxUsers: 7 });
    expect(both?.credentials.map((secret) => secret.reveal())).to.deep.equal([current, previous]);
  });
});

describe('transmitterChoice', () => {
  it('returns the issuer and the audience with one or two credentials, or nothing without an issuer', () => {
    expect(transmitterChoice(validWith({}))).to.equal(undefined);
    const [current, previous] = ['s'.repeat(32), 'p'.repeat(32)];
    const named = {
      'Service:Ssf:Issuer': 'https://transmitter.example/tenant-7/',
      'Service:Ssf:Audience': 'stream-7',
      'Service:Ssf:BearerToken': current,
    };
    const one = transmitterChoice(validWith(named));
    expect(one).to.deep.include({ issuer: 'https://transmitter.example/tenant-7/', audience: 'stream-7' });
    expect(one?.credentials.map((secret) => secret.reveal())).to.deep.equal([current]);
    const both = transmitterChoice(validWith({ ...named, 'Service:Ssf:PreviousBearerToken': previous }));
    expect(both?.credentials.map((secret) => secret.reveal())).to.deep.equal([current, previous]);
  });
});

describe('signingKeyChoices', () => {
  it('returns each key with its file or text and the setting that holds it', () => {
    const settings = validWith({
      'Service:Signing:Keys:3:Pem': PEM,
      'Service:Signing:Keys:3:Kid': 'winter',
      'Service:Signing:ActiveKid': 'winter',
    });
    const keys = signingKeyChoices(settings).map(({ source, kid, setting }) => ({
      text: source.kind === 'path' ? source.path : source.pem.reveal(),
      kid,
      setting,
    }));
    expect(keys).to.deep.equal([
      { text: '/run/secrets/signing.pem', kid: undefined, setting: 'Service:Signing:Keys:0:Path' },
      { text: PEM, kid: 'winter', setting: 'Service:Signing:Keys:3:Pem' },
    ]);
  });

  it('returns no key on a development host, where the service generates one', () => {
    const changes = { NODE_ENV: 'development', 'Service:Signing:Keys:0:Path': undefined };
    expect(signingKeyChoices(validWith(changes))).to.deep.equal([]);
  });
});
