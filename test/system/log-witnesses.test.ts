/** The witnesses of the transparency log (`Service:Audit:Log:Witnesses`). */

import { createPrivateKey, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type ServedWitness, servedWitness } from '../support/log/served-witness.ts';
import { cosignedAt, type WrittenLog, writtenLog } from '../support/log/written-log.ts';
import { startLoopback } from '../support/loopback.ts';
import { type Mandate, startMandate, withService } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { logKeySettings, readNote } from '../support/transparency-log.ts';

const ORIGIN = 'mandate.test/ledger';

for (const database of databasesByLength) {
  describe(`The witnesses of the log on ${database.name}`, function () {
    this.timeout(60_000);
    const logKey = logKeySettings();
    /** Another log with the key and the name of the service's. */
    let forged: WrittenLog;
    let one: ServedWitness;
    let two: ServedWitness;
    let mandate: Mandate;
    beforeEach(async () => {
      forged = writtenLog(ORIGIN, createPrivateKey(logKey['Service:Audit:Log:Key:Pem'] ?? ''));
      [one, two] = [await servedWitness('auditor.test/one'), await servedWitness('partner.test/two')];
      for (const witness of [one, two]) witness.watch(forged.vkey);
      const settings = {
        ...sharedSigningKey(),
        ...logKey,
        'Service:Audit:Log:Public': 'true',
        'Service:Audit:Log:Witnesses:0:Url': one.url,
        'Service:Audit:Log:Witnesses:0:VKey': one.vkey,
        'Service:Audit:Log:Witnesses:4:Url': `${two.url}/`,
        'Service:Audit:Log:Witnesses:4:VKey': two.vkey,
        'Service:Audit:Log:Quorum': '2',
        'Service:Audit:Log:WitnessTimeout': 'PT10S',
      };
      mandate = await startMandate({ database, settings });
    });
    afterEach(async () => {
      await mandate.stop();
      for (const witness of [one, two]) await witness.close();
    });

    /** Seals a record, lets the log grow, and asks the witnesses. Resolves with the records that were added. */
    const pass = () =>
      mandate.recorded(async () => {
        await mandate.block(`person-${randomUUID()}`, 'disabled');
        await mandate.jobs.seal();
        await mandate.jobs.growLog();
        await mandate.jobs.askWitnesses();
        // An instance reads the state of the log at most once a second.
        mandate.clock.advance(1);
      });
    const published = async () => {
      const { text } = await mandate.get('/log/checkpoint');
      return { ...readNote(text, forged.vkey), text: `${text.split('\n\n')[0]}\n` };
    };
    const readiness = async () => {
      const { body } = await mandate.untilReady({ accept: 'application/json' });
      return (body.checks as Readonly<Record<string, { status: string; detail: string }>>).log;
    };

    it('cosign each tree, and GET /log/checkpoint shows their cosignatures; the ledger has no record of it', async () => {
      for (const size of [1, 2, 3]) {
        expect((await pass()).map(({ event }) => event)).to.deep.equal(['sponsor.blocked']);
        const { cosignatures, text, ...head } = await published();
        expect(head).to.include({ size, origin: ORIGIN });
        expect(cosignatures).to.have.length(2);
        for (const [nth, witness] of [one, two].entries()) cosignedAt(`${cosignatures[nth]}\n`, witness.vkey, text);
      }
      expect(await readiness()).to.deep.equal({ status: 'Healthy', detail: 'The log has 3 leaves.' });
    });

    it('publish no tree that too few have cosigned; sealing continues, and /readyz names the witness that is down', async () => {
      await pass();
      await two.goDown();
      for (let time = 0; time < 3; time += 1) await pass();
      expect((await published()).size).to.equal(1);
      expect(await readiness()).to.deep.equal({
        status: 'Degraded',
        detail: 'The witness partner.test/two does not answer. There was no answer (ECONNREFUSED).',
      });
      const { checkpoints } = (await mandate.admin('GET', '/audit/checkpoints')).body;
      expect(checkpoints).to.have.length(4);
      await two.comeBack();
      await pass();
      expect((await published()).cosignatures).to.have.length(2);
      expect((await readiness())?.status).to.equal('Healthy');
    });

    it('that have seen more than the database holds stop the log, and nothing else', async () => {
      await pass();
      await pass();
      // The database was restored: the witness has cosigned what is lost.
      forged.grow(9);
      await two.close();
      two = await servedWitness('partner.test/two');
      two.watch(forged.vkey);
      expect((await two.cosign(forged.request(0))).kind).to.equal('cosigned');
      const settings = { 'Service:Audit:Log:Witnesses:4:Url': two.url, 'Service:Audit:Log:Witnesses:4:VKey': two.vkey };
      await withService(mandate.another(settings), async (restored) => {
        await restored.jobs.askWitnesses();
        restored.clock.advance(2);
        const lie = 'The witness partner.test/two has cosigned a larger tree: 9 leaves, and the database has 2.';
        const answer = await restored.untilReady({ accept: 'application/json' });
        expect([answer.status, answer.body.status]).to.deep.equal([200, 'Degraded']);
        expect(answer.text).to.include(lie);
        await pass();
        await mandate.jobs.growLog();
        expect((await published()).size).to.equal(1);
        expect((await mandate.admin('GET', '/audit/checkpoints')).body.checkpoints).to.have.length(3);
        expect(restored.log.lines.filter((line) => line.includes(lie))).to.have.length(1);
      });
    });

    it('are asked at a start, before a tree is signed, and before a reader gets the note that they contradict', async () => {
      await pass();
      await pass();
      expect((await published()).size).to.equal(2);
      // The database was restored: the witness has cosigned 5 leaves. It answers late.
      forged.grow(5);
      const newer = await servedWitness('partner.test/two');
      newer.watch(forged.vkey);
      expect((await newer.cosign(forged.request(0))).kind).to.equal('cosigned');
      const late = await startLoopback((request, response) => {
        setTimeout(async () => {
          const answer = await fetch(`${newer.url}${request.path}`, { method: 'POST', body: request.body });
          response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
          response.end(await answer.text());
        }, 300);
      });
      await mandate.block('person', 'disabled');
      await mandate.jobs.seal();
      const restored = await mandate.another({
        'Service:Audit:Log:Witnesses:4:Url': late.url,
        'Service:Audit:Log:Witnesses:4:VKey': newer.vkey,
        'Service:Audit:Log:Quorum': '0',
      });
      try {
        // The answers of the first moment, while the witness has not answered yet.
        const [note, proof, tile] = await Promise.all([
          restored.get('/log/checkpoint'),
          restored.admin('GET', '/audit/records/4/proof?log=true'),
          restored.get('/log/tile/0/000.p/2'),
          restored.get('/readyz'),
          restored.jobs.growLog(),
        ]);
        expect(late.received.length).to.be.greaterThan(0);
        expect(readNote(note.text, forged.vkey).size).to.equal(1);
        expect(proof.body.log).to.equal(null);
        expect([tile.status, (await restored.get('/log/tile/0/000.p/1')).status]).to.deep.equal([404, 200]);
        await restored.jobs.askWitnesses();
        await mandate.jobs.growLog();
        await mandate.jobs.askWitnesses();
        mandate.clock.advance(1);
        expect((await published()).size).to.equal(1);
        const checks = (await restored.untilReady({ accept: 'application/json' })).body.checks;
        expect(JSON.stringify(checks)).to.include('has cosigned a larger tree: 5 leaves, and the database has 2.');
      } finally {
        await restored.stop();
        await late.close();
        await newer.close();
      }
    });
  });
}
