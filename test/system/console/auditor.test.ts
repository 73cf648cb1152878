/** What auditors read in the console of the running service, on both databases: as the API answers it, and recorded alike. */

import { expect } from 'chai';
import { createAuditor } from '../../../adapters/sdk/audit/audit.ts';
import { OPERATOR_SESSION_TTL } from '../../../domain/sessions/session.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { openEventStream } from '../../support/event-stream.ts';

for (const database of databasesByLength) {
  describe(`The console for auditors on ${database.name}`, function () {
    this.timeout(60_000);
    let running: ConsoleService;
    let auditor: OperatorAtConsole;
    let viewer: OperatorAtConsole;
    before(async () => {
      running = await startConsole(database);
      const { mandate } = running;
      const agent = await mandate.agent();
      await agent.exchange();
      await mandate.jobs.seal();
      await agent.exchange({ resource: 'https://elsewhere.example' });
      auditor = await running.signedIn('auditor');
      viewer = await running.signedIn('viewer');
    });
    after(() => running.stop());

    const json = async (path: string) => {
      const { status, text } = await auditor.open(path);
      expect(status, path).to.equal(200);
      return JSON.parse(text);
    };

    it('shows the records of the API, and hands out its proofs and checkpoints, which verify', async () => {
      const { mandate } = running;
      const records = await mandate.ledger();
      const { text } = await auditor.open('/ledger');
      const shown = [...text.matchAll(/<pre [^>]*data-record="\d+">(.*?)<\/pre>/gs)].map(([, source = '']) =>
        JSON.parse(source.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')),
      );
      expect(shown).to.deep.equal(records.toReversed());
      const { proofs } = await json(`/ledger/proofs?seqs=${records.map(({ seq }) => seq).join()}`);
      const keys = JSON.parse((await mandate.get('/.well-known/jwks.json')).text);
      const { verifyRecord } = createAuditor({ keys });
      for (const [at, record] of records.entries()) {
        const { status, body } = await mandate.admin('GET', `/audit/records/${record.seq}/proof`);
        expect(proofs[at]).to.deep.equal({
          seq: record.seq,
          ...(status === 200 ? { proof: body } : { reason: 'no_sealed_record' }),
        });
        if (status === 200) expect(verifyRecord(record, proofs[at].proof).verified).to.equal(true);
      }
      expect(proofs.some(({ proof }: { proof?: unknown }) => proof === undefined)).to.equal(true);
      expect(await json('/ledger/chain?after=0&limit=10')).to.deep.equal(
        (await mandate.admin('GET', '/audit/checkpoints?limit=10')).body,
      );
    });

    it('records no read by an auditor', async () => {
      const paths = ['/ledger', '/ledger/checkpoints', '/ledger/proofs?seqs=1', '/ledger/chain'];
      const read = await running.mandate.recorded(async () => {
        for (const path of paths) expect((await auditor.open(path)).status, path).to.equal(200);
      });
      expect(read).to.deep.equal([]);
    });

    it('runs the checks of the doctor for every role, once at a time, without a secret of the settings', async () => {
      const [one, other] = await Promise.all([auditor.open('/doctor'), viewer.open('/doctor')]);
      for (const { status, text } of [one, other]) {
        expect(status).to.equal(200);
        expect(text)
          .to.match(/<th scope="row">database<\/th>/)
          .and.include('signing keys');
        for (const secret of ['an-admin-key', 'postgresql://']) expect(text).not.to.include(secret);
      }
      const checked = (text: string) => /Checked <time datetime="([^"]+)"/.exec(text)?.[1];
      expect(checked(one.text)).to.be.a('string').and.equal(checked(other.text));
    });

    it('begins the stream with the newest twenty records', async () => {
      const { mandate, origin } = running;
      for (let nth = 0; nth < 12; nth += 1) {
        for (const method of ['PUT', 'DELETE']) await mandate.admin(method, `/admin/sponsors/twenty-${nth}/block`);
      }
      const newest = (await mandate.ledger())
        .map(({ seq }) => seq)
        .sort((one, other) => one - other)
        .slice(-20);
      const stream = await openEventStream(`${origin}/stream`, { cookie: auditor.cookie.join('=') });
      await stream.until(20);
      const later = await mandate.recorded(() => mandate.admin('PUT', '/admin/sponsors/last/block'));
      await stream.until(20 + later.length);
      stream.close();
      expect(stream.events.map(({ id }) => Number(id))).to.deep.equal([...newest, ...later.map(({ seq }) => seq)]);
    });

    it('streams new records until the session ends, and does not prolong it', async () => {
      const { mandate, origin } = running;
      const own = await running.signedIn('auditor');
      const newest = Math.max(...(await mandate.ledger()).map(({ seq }) => seq));
      const headers = { cookie: own.cookie.join('='), 'last-event-id': String(newest) };
      const stream = await openEventStream(`${origin}/stream`, headers);
      expect([stream.status, stream.headers.get('cache-control')]).to.deep.equal([200, 'no-store']);
      const [record] = await mandate.recorded(() => mandate.admin('PUT', '/admin/sponsors/ida/block'));
      await stream.until(1);
      expect(stream.events[0]?.data).to.deep.equal(record);
      stream.close();
      mandate.clock.advance(OPERATOR_SESSION_TTL - 60);
      const later = await openEventStream(`${origin}/stream`, { cookie: own.cookie.join('=') });
      later.close();
      expect(later.status).to.equal(200);
      mandate.clock.advance(61);
      const gone = await own.open('/stream');
      expect([gone.status, gone.headers.get('location')]).to.deep.equal([302, '/sign-in']);
    });
  });
}
