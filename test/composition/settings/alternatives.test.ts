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

describe('The chosen database', () => {
  it('is a file on SQLite', () => {
    expect(databaseChoice(validWith(onSqlite))).to.deep.equal({ provider: 'sqlite', path: '/var/lib/mandate.db' });
  });

  it('is opened by two roles on Postgres, which are one where only one is named', () => {
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

describe('The chosen identity provider', () => {
  it('is found by its issuer or by its metadata', () => {
    expect(upstreamChoice(validWith({}))).to.deep.equal({
      kind: 'issuer',
      issuer: 'https://idp.example/realms/main',
    });
    const byMetadata = {
      'Service:UpstreamIdp:Issuer': undefined,
      'Service:UpstreamIdp:MetadataUrl': 'https://m.example',
    };
    expect(upstreamChoice(validWith(byMetadata))).to.deep.equal({ kind: 'metadata', url: 'https://m.example' });
  });
});

describe('The chosen sponsor check', () => {
  it('knows how to poll under poll, and nothing more under signals', () => {
    expect(sponsorCheckChoice(validWith({ 'Service:UpstreamIdp:SponsorCheck:CacheTtl': 'PT20S' }))).to.deep.equal({
      mode: 'poll',
      usersUrl: 'https://idp.example/admin/realms/main/users',
      tokenUrl: 'https://idp.example/realms/main/token',
      clientId: 'mandate-poller',
      cacheTtl: 20,
    });
    expect(sponsorCheckChoice(validWith(signalsMode))).to.deep.equal({ mode: 'signals' });
  });
});

describe('The chosen sink', () => {
  it('is none unless it has an address', () => {
    expect(sinkChoice(validWith({}))).to.equal(undefined);
  });

  it('is an address, and what is presented there', () => {
    const url = 'https://sink.example/records';
    expect(sinkChoice(validWith({ 'Service:Audit:Sink:Url': url }))).to.deep.equal({ url, bearerToken: undefined });
    const both = sinkChoice(validWith({ 'Service:Audit:Sink:Url': url, 'Service:Audit:Sink:BearerToken': 'sesame' }));
    expect([both?.url, both?.bearerToken?.reveal()]).to.deep.equal([url, 'sesame']);
  });
});

describe('The chosen provisioning', () => {
  it('is none unless it has a credential', () => {
    expect(provisioningChoice(validWith({}))).to.equal(undefined);
  });

  it('accepts the credential in use, and the one before while there is one', () => {
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

describe('The chosen transmitter', () => {
  it('is none where none is named', () => {
    expect(transmitterChoice(validWith({}))).to.equal(undefined);
  });

  it('presents the credential in use, or the one before while there is one', () => {
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

describe('The chosen signing keys', () => {
  it('come from a file or from text, and say which setting named them', () => {
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

  it('are none on a development host that makes one up', () => {
    const changes = { NODE_ENV: 'development', 'Service:Signing:Keys:0:Path': undefined };
    expect(signingKeyChoices(validWith(changes))).to.deep.equal([]);
  });
});
