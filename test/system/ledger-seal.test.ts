/** Summaries, seals, proofs and deliveries to the sink, over HTTP on a real database. */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import type { PublishedObject } from '../support/independent-ledger/canonical-form.ts';
import { isProven, type PublishedKeys } from '../support/independent-ledger/verify-published.ts';
import { answering, type Handler, type Loopback, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, type LedgerLine, type Mandate, startMandate, withService } from '../support/mandate.ts';

const WINDOW = 60;

/** Requests that are refused before the caller is known. */
const malformed = (mandate: Mandate) => mandate.post('/oauth2/token', { grant_type: 'password' });
const unsigned = (mandate: Mandate) => mandate.post('/oauth2/revoke', { token: 'x', client_assertion: 'y' });
const keyless = (mandate: Mandate) => mandate.get('/admin/agents');
const wrongKey = (mandate: Mandate) => mandate.get('/audit', { authorization: `Bearer ${ADMIN_KEY}x` });

async function times(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < count; time += 1) await act();
}

const told = (lines: readonly LedgerLine[]) => lines.map(({ event, reason, count }) => [event, reason, count ?? 'one']);

for (const database of databases) {
  describe(`Denials of unauthenticated clients on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('are recorded once for each event and reason, then summarised at the end of the window', async () => {
      const lines = await mandate.recorded(async () => {
        await times(5, () => malformed(mandate));
        await times(3, () => keyless(mandate));
        await times(2, () => wrongKey(mandate));
        await times(1, () => unsigned(mandate));
        await mandate.jobs.closeWindows();
        mandate.clock.advance(WINDOW);
        await mandate.jobs.closeWindows();
        await mandate.jobs.closeWindows();
      });
      expect(told(lines).slice(0, 4)).to.deep.equal([
        ['token.denied', 'unsupported_grant_type', 'one'],
        ['admin.denied', 'missing_api_key', 'one'],
        ['admin.denied', 'invalid_api_key', 'one'],
        ['token.denied', 'invalid_request', 'one'],
      ]);
      expect(told(lines).slice(4)).to.have.deep.members([
        ['token.denied', 'unsupported_grant_type', 4],
        ['admin.denied', 'missing_api_key', 2],
        ['admin.denied', 'invalid_api_key', 1],
      ]);
      for (const line of lines) {
        const { seq: _seq, ts: _ts, event: _event, decision, reason: _reason, count: _count, ...nobody } = line;
        expect(decision).to.equal('deny');
        expect(new Set(Object.values(nobody))).to.deep.equal(new Set([null]));
        expect(Object.keys(line).includes('count')).to.equal(lines.indexOf(line) > 3);
      }
    });

    it('that arrive concurrently get one record and one summary', async () => {
      mandate.clock.advance(WINDOW);
      const lines = await mandate.recorded(async () => {
        await Promise.all(Array.from({ length: 40 }, () => malformed(mandate)));
        mandate.clock.advance(WINDOW);
        await mandate.jobs.closeWindows();
      });
      expect(told(lines)).to.deep.equal([
        ['token.denied', 'unsupported_grant_type', 'one'],
        ['token.denied', 'unsupported_grant_type', 39],
      ]);
    });

    it('are never summarised with denials that name an agent, each of which has a record', async () => {
      const agent = await mandate.agent();
      mandate.clock.advance(WINDOW);
      const grant = await agent.grant();
      const lines = await mandate.recorded(async () => {
        await times(3, () => agent.exchange({ resource: 'https://other.example' }));
        await times(3, () => agent.refresh(grant, { scope: 'jira:admin' }));
        mandate.clock.advance(WINDOW);
        await mandate.jobs.closeWindows();
      });
      const [audience, scope] = ['audience_not_allowed', 'scope_widened'].map((reason) => [
        'token.denied',
        reason,
        'one',
      ]);
      expect(told(lines)).to.deep.equal([audience, audience, audience, scope, scope, scope]);
    });

    it('are summarised by each instance separately, also when it stops', async () => {
      const other = await mandate.another({});
      mandate.clock.advance(WINDOW);
      const lines = await mandate.recorded(async () => {
        await times(2, () => malformed(mandate));
        await times(4, () => malformed(other));
        await other.stop();
      });
      expect(told(lines)).to.have.deep.members([
        ['token.denied', 'unsupported_grant_type', 'one'],
        ['token.denied', 'unsupported_grant_type', 'one'],
        ['token.denied', 'unsupported_grant_type', 3],
      ]);
    });

    it('have one record each while aggregation is off', async () => {
      const other = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' });
      const lines = await mandate.recorded(async () => {
        await times(3, () => malformed(other));
        await times(2, () => keyless(other));
        await other.stop();
      });
      const token = ['token.denied', 'unsupported_grant_type', 'one'];
      const admin = ['admin.denied', 'missing_api_key', 'one'];
      expect(told(lines)).to.deep.equal([token, token, token, admin, admin]);
    });
  });

  describe(`Sealing on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('seals every record in one pass, and serves a proof of each', async () => {
      const agent = await mandate.agent();
      const grant = await agent.grant();
      await agent.refresh(grant);
      await agent.exchange({ resource: 'https://other.example' });
      const [unsealed] = await mandate.ledger();
      expect(unsealed?.checkpoint).to.equal(null);
      expect((await mandate.admin('GET', `/audit/records/${unsealed?.seq}/proof`)).status).to.equal(404);
      expect((await mandate.admin('GET', '/audit/checkpoints')).body).to.deep.equal({
        checkpoints: [],
        next_after: null,
      });

      await mandate.jobs.seal();
      await agent.revoke(grant);
      await mandate.jobs.seal();
      await mandate.jobs.seal();
      const jwks = (await mandate.get('/.well-known/jwks.json')).body as unknown as PublishedKeys;
      const checkpoints = (await mandate.admin('GET', '/audit/checkpoints')).body.checkpoints as PublishedObject[];
      expect(checkpoints.map(({ checkpoint_id }) => checkpoint_id)).to.deep.equal([1, 2]);
      const lines = await mandate.ledger();
      expect(lines.map(({ checkpoint }) => checkpoint)).to.deep.equal([...lines.slice(1).map(() => 1), 2]);
      for (const line of lines) {
        const { status, body: proof, text } = await mandate.admin('GET', `/audit/records/${line.seq}/proof`);
        expect(status, text).to.equal(200);
        expect(proof).to.have.all.keys('seq', 'checkpoint', 'leaf_index', 'audit_path');
        expect(proof.seq).to.equal(line.seq);
        expect(proof.checkpoint).to.deep.equal(checkpoints[Number(line.checkpoint) - 1]);
        expect(isProven(line, proof, jwks)).to.equal(true);
      }
    });

    it('runs at the configured interval', async () => {
      await withService(mandate.another({ 'Service:Audit:Checkpoint:Interval': 'PT1S' }), async (other) => {
        await other.agent();
        await eventually(async () => {
          const lines = await mandate.ledger();
          return lines.every(({ checkpoint }) => checkpoint !== null);
        }, 50);
      });
    });
  });

  describe(`The sink on ${database.name}`, () => {
    let sink: Loopback;
    let mandate: Mandate;
    const refused: Handler = answering('', 503);
    before(async () => {
      sink = await startLoopback(answering(''));
      mandate = await startMandate({
        database,
        settings: { 'Service:Audit:Sink:Url': `${sink.url}/records`, 'Service:Audit:DrainBatchSize': '3' },
      });
    });
    after(async () => {
      await mandate.stop();
      await sink.close();
    });
    const received = () => sink.received.map(({ body }) => (JSON.parse(body) as { records: LedgerLine[] }).records);

    it('receives every record in order and in batches, in the format of GET /audit', async () => {
      const agent = await mandate.agent();
      await agent.exchange();
      await times(2, () => malformed(mandate));
      await agent.exchange({ resource: 'https://other.example' });
      await keyless(mandate);
      mandate.clock.advance(WINDOW);
      await mandate.jobs.closeWindows();
      await mandate.jobs.drain();
      expect(received().map((records) => records.length)).to.deep.equal([3, 3]);
      expect(received().flat()).to.deep.equal(await mandate.ledger());
      await mandate.jobs.drain();
      expect(received()).to.have.lengthOf(2);
    });

    it('receives every missed record in order after a failed delivery', async () => {
      sink.received.length = 0;
      sink.answer = refused;
      // A failed delivery may be due again after one second, so the clock stands still.
      mandate.clock.standStill();
      const agent = await mandate.agent();
      const lines = await mandate.recorded(async () => {
        await times(4, async () => expect((await agent.exchange()).status).to.equal(200));
        // The failed batch waits for its retry, and later records are tried once.
        for (let pass = 0; pass < 4; pass += 1) await mandate.jobs.drain();
      });
      expect(received().map((records) => records.length)).to.deep.equal([3, 2]);
      const missed = received().flat();
      sink.received.length = 0;
      sink.answer = answering('');
      mandate.clock.advance(300);
      await mandate.jobs.drain();
      expect(received().flat().slice(0, 5)).to.deep.equal(missed);
      const seqs = received().flatMap((records) => records.map(({ seq }) => seq));
      expect(seqs).to.deep.equal(seqs.toSorted((one, other) => one - other));
      expect(seqs).to.include.members(lines.map(({ seq }) => seq));
      const said = mandate.log.lines.filter((line) => line.includes('the sink'));
      expect(said.map((line) => JSON.parse(line).message)).to.deep.equal([
        'the sink does not accept records: they stay queued',
        'the sink accepts records again',
      ]);
    });

    it('delays no exchange even if it never answers', async () => {
      const asked = new Promise<void>((resolve) => {
        sink.answer = () => resolve();
      });
      const agent = await mandate.agent();
      let isOver = false;
      const draining = mandate.jobs.drain().then(() => {
        isOver = true;
      });
      await asked;
      await times(5, async () => expect((await agent.exchange()).status).to.equal(200));
      expect(isOver).to.equal(false);
      await sink.close();
      await draining;
    });
  });

  describe(`Without a sink on ${database.name}`, () => {
    it('the service queues no record', async () => {
      const sink = await startLoopback(answering(''));
      await withService(startMandate({ database }), async (mandate) => {
        await mandate.agent();
        await withService(mandate.another({ 'Service:Audit:Sink:Url': sink.url }), async (other) => {
          await other.jobs.drain();
          expect(sink.received).to.deep.equal([]);
          await mandate.agent();
          await other.jobs.drain();
          expect(sink.received).to.have.lengthOf(1);
        });
      });
      await sink.close();
    });
  });
}
