import { expect } from 'chai';
import { driveClosedLoop } from '../../../scripts/bench/load.ts';
import { type Peer, startPeer } from '../../../scripts/bench/peer.ts';
import { openPeerStorage, type PeerDatabase, type PeerStorage } from '../../../scripts/bench/peer-storage.ts';
import { subjectTokens } from '../../../scripts/bench/subject-tokens.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';

for (const { name, fresh } of databases) {
  describe(`the peer of the benchmark that stores, on ${name}`, () => {
    let database: FreshDatabase;
    let outside: OutsideConnection;
    let location: PeerDatabase;

    before(async () => {
      database = await fresh('absent');
      const { 'Service:Database:Path': path, 'Service:Database:MigrationConnectionString': uri = '' } =
        database.settings;
      location = path === undefined ? { engine: 'postgres', uri } : { engine: 'sqlite', path };
      outside = await connectOutside(database);
    });

    after(async () => {
      await outside.close();
      await database.drop();
    });

    describe('as a server', () => {
      let provider: IdentityProvider;
      let peer: Peer;

      before(async () => {
        provider = await startIdentityProvider();
        peer = await startPeer({
          name,
          database: location,
          databasePid: undefined,
          subjectTokens: subjectTokens(provider),
        });
      });

      after(async () => {
        peer.stop();
        await provider.stop();
      });

      it('commits for each request the assertion that it spent, a grant, and a token of the grant', async () => {
        const { target, prepare, expected } = peer.workload;
        const requests = await prepare(5);
        await driveClosedLoop(target, requests, { concurrency: 2, seconds: 30, expected });
        const rows = await outside.sql('select model, grant_id from peer_models order by model, id');
        const of = (model: string) => rows.filter((row) => row.model === model);
        expect(rows).to.have.lengthOf(15);
        expect(of('ReplayDetection')).to.have.lengthOf(5);
        expect(of('Grant')).to.have.lengthOf(5);
        expect(new Set(of('RefreshToken').map(({ grant_id }) => grant_id)).size).to.equal(5);
      });

      it('refuses a request that it has seen', async () => {
        const { target, prepare, expected } = peer.workload;
        const [request = Buffer.alloc(0)] = await prepare(1);
        const load = driveClosedLoop(target, [request, request], { concurrency: 1, seconds: 30, expected });
        expect(String(await load.catch((error: unknown) => error))).to.contain('invalid_client');
      });
    });

    describe('as an adapter', () => {
      let storage: PeerStorage;

      before(async () => {
        storage = await openPeerStorage(location);
      });

      after(() => storage.close());

      it('finds what was stored, until it expires or is destroyed', async () => {
        const sessions = storage.adapter('Session');
        await sessions.upsert('one', { uid: 'first' }, 60);
        await sessions.upsert('one', { uid: 'second' }, 60);
        expect(await sessions.find('one')).to.deep.equal({ uid: 'second' });
        expect(await sessions.findByUid('first')).to.equal(undefined);
        expect(await sessions.findByUid('second')).to.deep.equal({ uid: 'second' });
        expect(await storage.adapter('Grant').find('one')).to.equal(undefined);
        await sessions.destroy('one');
        expect(await sessions.find('one')).to.equal(undefined);
        await sessions.upsert('past', { uid: 'third' }, -1);
        expect(await sessions.find('past')).to.equal(undefined);
      });

      it('marks a token as consumed, and deletes the tokens of a revoked grant', async () => {
        const tokens = storage.adapter('RefreshToken');
        await tokens.upsert('mine', { grantId: 'a', userCode: 'code' }, 60);
        await tokens.upsert('other', { grantId: 'b' }, 60);
        await tokens.consume('mine');
        expect((await tokens.findByUserCode('code'))?.consumed).to.be.closeTo(Date.now() / 1000, 60);
        await tokens.revokeByGrantId('a');
        expect(await tokens.find('mine')).to.equal(undefined);
        expect(await tokens.find('other')).to.deep.equal({ grantId: 'b' });
      });
    });
  });
}
