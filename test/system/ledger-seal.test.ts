/** The ledger as an auditor and a sink meet it: summaries, seals, proofs and copies, over HTTP on a real database. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { answering, type Handler, type Loopback, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, type LedgerLine, type Mandate, startMandate } from '../support/mandate.ts';

const WINDOW = 60;

/** Requests that name nobody. */
const malformed = (mandate: Mandate) => mandate.post('/oauth2/token', { grant_type: 'password' });
const unsigned = (mandate: Mandate) => mandate.post('/oauth2/revoke', { token: 'x', client_assertion: 'y' });
const keyless = (mandate: Mandate) => mandate.get('/admin/agents');
const wrongKey = (mandate: Mandate) => mandate.get('/audit', { authorization: `Bearer ${ADMIN_KEY}x` });

async function times(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < count; time += 1) await act();
}

const told = (lines: readonly LedgerLine[]) => lines.map(({ event, reason, count }) => [event, reason, count ?? 'one']);

for (const database of databases) {
  describe(`denials that name nobody, on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('are written once by event and reason, and summarised when their window has ended', async () => {
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

    it('are one record of their own and one summary when they come all at once', async () => {
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

    it('are never mixed with those that name somebody, each of which is a record', async () => {
      const agent = await mandate.agent();
      mandate.clock.advance(WINDOW);
      const issued = await agent.exchange();
      const grant = String(issued.body.refresh_token);
      const lines = await mandate.recorded(async () => {
        await times(3, () => agent.exchange({ resource: 'https://other.example' }));
        await times(3, () => agent.refresh(grant, { scope: 'jira:admin' }));
        mandate.clock.advance(WINDOW);
        await mandate.jobs.closeWindows();
      });
      expect(told(lines)).to.deep.equal([
        ...Array.from({ length: 3 }, () => ['token.denied', 'audience_not_allowed', 'one']),
        ...Array.from({ length: 3 }, () => ['token.denied', 'scope_widened', 'one']),
      ]);
    });

    it('are summarised by each instance for itself, and when it stops', async () => {
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

    it('are each a record where aggregation is turned off', async () => {
      const other = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' });
      const lines = await mandate.recorded(async () => {
        await times(3, () => malformed(other));
        await times(2, () => keyless(other));
        await other.stop();
      });
      expect(told(lines)).to.deep.equal([
        ...Array.from({ length: 3 }, () => ['token.denied', 'unsupported_grant_type', 'one']),
        ...Array.from({ length: 2 }, () => ['admin.denied', 'missing_api_key', 'one']),
      ]);
    });
  });

  describe(`the seal, on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('is on every record after a pass, which each record is then proved by', async () => {
      const agent = await mandate.agent();
      const grant = String((await agent.exchange()).body.refresh_token);
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
      const { checkpoints } = (await mandate.admin('GET', '/audit/checkpoints')).body as { checkpoints: Seal[] };
      expect(checkpoints.map(({ checkpoint_id }) => checkpoint_id)).to.deep.equal([1, 2]);
      const lines = await mandate.ledger();
      expect(lines.map(({ checkpoint }) => checkpoint)).to.deep.equal([...lines.slice(1).map(() => 1), 2]);
      for (const line of lines) {
        const answer = await mandate.admin('GET', `/audit/records/${line.seq}/proof`);
        expect(answer.status, answer.text).to.equal(200);
        const proof = answer.body as unknown as Proof;
        expect(proof).to.have.all.keys('seq', 'checkpoint', 'leaf_index', 'audit_path');
        expect(proof.seq).to.equal(line.seq);
        expect(proof.checkpoint).to.deep.equal(checkpoints[Number(line.checkpoint) - 1]);
        expect(fold(leafOf(line), proof)).to.equal(proof.checkpoint.root_hash);
      }
    });

    it('is made by itself, every so often', async () => {
      const other = await mandate.another({ 'Service:Audit:Checkpoint:Interval': 'PT1S' });
      await other.agent();
      await eventually(async () => {
        const lines = await mandate.ledger();
        return lines.every(({ checkpoint }) => checkpoint !== null);
      }, 50);
      await other.stop();
    });
  });

  describe(`the sink, on ${database.name}`, () => {
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
    const received = () =>
      sink.received.map(
        ({ body }) => (JSON.parse(body) as { records: LedgerLine[] }).records,
      ) as readonly LedgerLine[][];

    it('receives every record, in order, in batches, as the audit shows it', async () => {
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

    it('that fails is left alone for a while, and then receives all that it missed, in order', async () => {
      sink.received.length = 0;
      sink.answer = refused;
      // What failed may be due again after a second.
      mandate.clock.standStill();
      const agent = await mandate.agent();
      const lines = await mandate.recorded(async () => {
        await times(4, async () => expect((await agent.exchange()).status).to.equal(200));
        // What failed waits for its time; what comes after it is tried once, too.
        for (let pass = 0; pass < 4; pass += 1) await mandate.jobs.drain();
      });
      expect(received().map((records) => records.length)).to.deep.equal([3, 2]);
      const missed = received().flat();
      sink.received.length = 0;
      sink.answer = answering('');
      mandate.clock.advance(300);
      await mandate.jobs.drain();
      expect(received().flat().slice(0, 5)).to.deep.equal(missed);
      const seqs = received()
        .flat()
        .map(({ seq }) => seq);
      expect(seqs).to.deep.equal([...seqs].sort((one, other) => one - other));
      expect(seqs).to.include.members(lines.map(({ seq }) => seq));
      const said = mandate.log.lines.filter((line) => line.includes('the sink'));
      expect(said.map((line) => JSON.parse(line).message)).to.deep.equal([
        'the sink does not take records: they wait',
        'the sink takes records again',
      ]);
    });

    it('that never answers keeps no token waiting', async () => {
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

  describe(`without a sink, on ${database.name}`, () => {
    it('nothing is queued', async () => {
      const mandate = await startMandate({ database });
      await mandate.agent();
      const sink = await startLoopback(answering(''));
      const other = await mandate.another({ 'Service:Audit:Sink:Url': sink.url });
      await other.jobs.drain();
      expect(sink.received).to.deep.equal([]);
      await mandate.agent();
      await other.jobs.drain();
      expect(sink.received).to.have.lengthOf(1);
      await other.stop();
      await mandate.stop();
      await sink.close();
    });
  });
}

interface Seal {
  readonly checkpoint_id: number;
  readonly tree_size: number;
  readonly root_hash: string;
}

interface Proof {
  readonly seq: number;
  readonly checkpoint: Seal;
  readonly leaf_index: number;
  readonly audit_path: readonly string[];
}

const sha256 = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** Every record of these tests is plain ASCII without a character that the canonical form escapes. */
function leafOf({ seq: _seq, checkpoint: _checkpoint, ...line }: LedgerLine): Buffer {
  const sorted = Object.entries(line).sort(([one], [other]) => (one < other ? -1 : 1));
  return sha256(Buffer.from([0]), Buffer.from(JSON.stringify(Object.fromEntries(sorted))));
}

/** RFC 9162 §2.1.3.2, which folds an RFC 6962 path. */
function fold(leaf: Buffer, { leaf_index, audit_path, checkpoint }: Proof): string {
  let [index, last, node] = [leaf_index, checkpoint.tree_size - 1, leaf];
  for (const step of audit_path) {
    const sibling = Buffer.from(step, 'hex');
    if (index % 2 === 1 || index === last) {
      node = sha256(Buffer.from([1]), sibling, node);
      while (index % 2 === 0 && index !== 0) [index, last] = [index / 2, Math.floor(last / 2)];
    } else {
      node = sha256(Buffer.from([1]), node, sibling);
    }
    [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  }
  expect(last).to.equal(0);
  return node.toString('hex');
}
