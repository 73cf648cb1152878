/** The transparency log over the checkpoints (`Service:Audit:Log`; C2SP tlog-tiles, tlog-checkpoint v1.0.0). */

import { createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { rootOfPath, treeHash } from '../support/independent-ledger/tree-recursion.ts';
import { makeSealingKey } from '../support/ledger/sealing-key.ts';
import { type Mandate, startMandate, withService } from '../support/mandate.ts';
import { hashLeaf, logKeySettings, readNote } from '../support/transparency-log.ts';
import { testConfiguration } from './transparency-log/configured.ts';
import { hex, keysIn, logOn, ORIGIN, thumbprintOf } from './transparency-log/log.ts';

const PATHS = ['/log/checkpoint', '/log/keys', '/log/tile/0/000', '/log/tile/entries/000.p/1'];

const TILE = 256;

/** The hashes of a tile. */
function hashesIn(bytes: Buffer): readonly Buffer[] {
  return Array.from({ length: bytes.length / 32 }, (_, nth) => bytes.subarray(nth * 32, nth * 32 + 32));
}

/** The entries of a bundle: each after its length. */
function entriesIn(bytes: Buffer): readonly string[] {
  const entries: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at);
    entries.push(bytes.toString('utf8', at + 2, end));
    at = end;
  }
  return entries;
}

for (const database of databasesByLength) {
  describe(`The transparency log on ${database.name}`, () => {
    const logged = logOn(database);
    const { seal, vkey, noteNow, checkpointTexts } = logged;

    const bytesAt = async (path: string) =>
      Buffer.from(await (await fetch(`${logged.mandate.url}${path}`)).arrayBuffer());

    it('publishes the signed note of an empty tree before the first checkpoint', async () => {
      const { mandate } = logged;
      const answer = await mandate.get('/log/checkpoint');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=1');
      expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
      expect(await noteNow()).to.deep.equal({ origin: ORIGIN, size: 0, root: treeHash([]), cosignatures: [] });
    });

    it('lists the keys that sign, and has their thumbprints in the ledger', async () => {
      const { mandate } = logged;
      const keys = keysIn(await mandate.get('/log/keys'));
      expect(keys.map(({ use, to }) => [use, to])).to.deep.equal([
        ['checkpoint', null],
        ['log', null],
      ]);
      const [checkpoint, log] = keys;
      const published = (await mandate.get('/.well-known/jwks.json')).body.keys as readonly unknown[];
      expect(checkpoint?.jwk).to.deep.equal(published[0]);
      expect(log?.vkey?.startsWith(`${log.kid}+`)).to.equal(true);
      expect(log?.vkey).to.match(/^mandate\.test\/ledger\+[0-9a-f]{8}\+A/);
      const records = (await mandate.ledger()).filter(({ event }) => String(event).startsWith('key.'));
      expect(records.map(({ event, reason, decision, detail }) => [event, reason, decision, detail])).to.deep.equal([
        ['key.activated', 'checkpoint_key', 'allow', checkpoint?.kid],
        ['key.activated', 'log_key', 'allow', thumbprintOf(log)],
      ]);
    });

    it('has each checkpoint as a leaf, in the exact bytes of GET /audit/checkpoints', async () => {
      await seal(3);
      const note = await noteNow();
      expect(note.size).to.equal(3);
      const texts = await checkpointTexts();
      expect(entriesIn(await bytesAt('/log/tile/entries/000.p/3'))).to.deep.equal(texts);
      const leaves = texts.map((text) => hashLeaf(Buffer.from(text)));
      expect(hashesIn(await bytesAt('/log/tile/0/000.p/3')).map(hex)).to.deep.equal(leaves.map(hex));
      expect(hex(note.root)).to.equal(hex(treeHash(leaves)));
      expect(hashesIn(await bytesAt('/log/tile/0/000.p/2')).map(hex)).to.deep.equal(leaves.slice(0, 2).map(hex));
    });

    it('has tiles of several levels, of which a full one may be cached for ever', async function () {
      const { mandate } = logged;
      this.timeout(300_000);
      await seal(TILE + 1);
      const texts = await checkpointTexts();
      const leaves = texts.map((text) => hashLeaf(Buffer.from(text)));
      const note = await noteNow();
      expect([note.size, hex(note.root)]).to.deep.equal([TILE + 4, hex(treeHash(leaves))]);
      const full = await mandate.get('/log/tile/0/000');
      expect(full.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
      expect(full.headers.get('content-type')).to.equal('application/octet-stream');
      expect(full.headers.get('content-length')).to.equal('8192');
      expect((await mandate.get('/log/tile/0/001.p/4')).headers.get('cache-control')).to.equal('public, max-age=60');
      expect(hashesIn(await bytesAt('/log/tile/0/000')).map(hex)).to.deep.equal(leaves.slice(0, TILE).map(hex));
      expect(hashesIn(await bytesAt('/log/tile/0/001.p/4')).map(hex)).to.deep.equal(leaves.slice(TILE).map(hex));
      expect(hex(await bytesAt('/log/tile/1/000.p/1'))).to.equal(hex(treeHash(leaves.slice(0, TILE))));
      expect(entriesIn(await bytesAt('/log/tile/entries/000'))).to.deep.equal(texts.slice(0, TILE));
      expect(entriesIn(await bytesAt('/log/tile/entries/001.p/4'))).to.deep.equal(texts.slice(TILE));
    });

    for (const path of [
      ...['0/000.p/0', '0/000.p/256', '0/000.p/257', '0/001', '0/001.p/5', '0/002', '0/002.p/1', '1/000', '1/000.p/2'],
      ...['1/001.p/1', '2/000.p/1', '63/000.p/1', '64/000.p/1', 'entries/001', 'entries/001.p/5', 'entries/x000/000'],
      ...['0/x001/x000/000', '0/000/', '0/0', 'x/000', '', '..%2f..%2fetc', '0/000%00', `0/${'x001/'.repeat(200)}000`],
    ]) {
      it(`has no tile beyond its size or at another path: ${path.slice(0, 40)}`, async () => {
        const { mandate } = logged;
        const answer = await mandate.get(`/log/tile/${path}`);
        expect(answer.status).to.equal(404);
        expect(answer.headers.get('content-type')).to.include('application/problem+json');
      });
    }

    it('proves on request that the checkpoint of a record is in it, and says null until it is', async () => {
      const { mandate } = logged;
      const records = (await mandate.ledger()).filter(({ checkpoint }) => checkpoint !== null);
      for (const record of [records[0], records[7], records.at(-1)]) {
        const path = `/audit/records/${record?.seq}/proof`;
        const plain = await mandate.admin('GET', path);
        const { log, ...proof } = (await mandate.admin('GET', `${path}?log=true`)).body;
        expect(proof).to.deep.equal(plain.body);
        expect((await mandate.admin('GET', `${path}?log=false`)).text).to.equal(plain.text);
        const claim = log as { checkpoint_index: number; inclusion_path: readonly string[]; note: string };
        const { size, root } = readNote(claim.note, await vkey());
        const leaf = hashLeaf(Buffer.from(JSON.stringify(plain.body.checkpoint)));
        const nodes = claim.inclusion_path.map((node) => Buffer.from(node, 'hex'));
        expect(claim.checkpoint_index).to.equal(Number(record?.checkpoint) - 1);
        expect(hex(rootOfPath(leaf, claim.checkpoint_index, size, nodes) ?? Buffer.of())).to.equal(hex(root));
      }
      await mandate.block('somebody', 'disabled');
      await mandate.jobs.seal();
      const newest = (await mandate.ledger()).findLast(({ checkpoint }) => checkpoint !== null);
      const answer = await mandate.admin('GET', `/audit/records/${newest?.seq}/proof?log=true`);
      expect([answer.status, answer.body.log]).to.deep.equal([200, null]);
      await mandate.jobs.growLog();
      mandate.clock.advance(1);
    });

    it('answers HEAD, and nothing at other paths', async () => {
      const { mandate } = logged;
      const head = await mandate.send('/log/checkpoint', { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      for (const path of ['/log', '/log/', '/log/other', '/log/checkpoint/']) {
        expect((await mandate.get(path)).status, path).to.equal(404);
      }
    });

    it('needs the admin key if it is not public, and records a refusal', async () => {
      const { mandate } = logged;
      await withService(mandate.another({ 'Service:Audit:Log:Public': 'false' }), async (closed) => {
        closed.clock.advance(mandate.clock.seconds() + 3600 - closed.clock.seconds());
        const records = await closed.recorded(async () => {
          expect((await closed.get('/log/checkpoint')).status).to.equal(401);
        });
        expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([
          ['admin.denied', 'missing_api_key'],
        ]);
        for (const path of PATHS) {
          expect((await closed.get(path, { authorization: 'Bearer wrong' })).status, path).to.equal(401);
          const answer = await closed.admin('GET', path);
          expect(answer.status, path).to.equal(200);
          expect(answer.headers.get('access-control-allow-origin'), path).to.equal(null);
          expect(answer.headers.get('cache-control'), path).to.match(/^private, /);
        }
      });
    });

    testConfiguration(logged);
  });

  describe(`Keys of checkpoints in the transparency log on ${database.name}`, () => {
    it('are named after they are no longer configured, once a later checkpoint seals the record of it', async () => {
      const [former, next] = await Promise.all([makeSealingKey(), makeSealingKey()]);
      const log = { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
      const half = createPublicKey(former.pem).export({ type: 'spki', format: 'pem' }).toString();
      const settings = { ...log, 'Service:Signing:Keys:0:Pem': former.pem };
      await withService(startMandate({ database, settings }), async (first) => {
        await first.block('ada', 'disabled');
        await first.jobs.seal();
        const alone = { 'Service:Signing:Keys:0:Pem': next.pem };
        const both = { 'Service:Signing:Keys:1:Pem': half, 'Service:Signing:ActiveKid': next.signer.kid };
        const kidsOf = async (of: Mandate) =>
          keysIn(await of.get('/log/keys')).flatMap(({ kid, use }) => (use === 'checkpoint' ? [kid] : []));
        await withService(first.another({ ...alone, ...both }), async (second) => {
          // The record of its retirement is not sealed yet.
          expect(await withService(first.another(alone), kidsOf)).to.deep.equal([next.signer.kid]);
          await second.jobs.seal();
          const kids = await withService(first.another(alone), kidsOf);
          expect(kids).to.deep.equal([former.signer.kid, next.signer.kid]);
        });
      });
    });
  });

  describe(`Without its key the transparency log on ${database.name}`, () => {
    it('has no path, no record, no row and no readiness check', async () => {
      await withService(startMandate({ database }), async (mandate) => {
        await mandate.block('somebody', 'disabled');
        await mandate.jobs.seal();
        await mandate.jobs.growLog();
        const unknown = await mandate.get('/nothing');
        for (const path of PATHS) {
          const { status, text } = await mandate.get(path);
          expect([status, text], path).to.deep.equal([404, unknown.text]);
        }
        const proof = await mandate.admin('GET', '/audit/records/1/proof');
        expect((await mandate.admin('GET', '/audit/records/1/proof?log=true')).text).to.equal(proof.text);
        expect((await mandate.admin('GET', '/audit/records/1/proof?log=maybe')).text).to.equal(proof.text);
        expect((await mandate.ledger()).map(({ event }) => event)).to.deep.equal(['sponsor.blocked']);
        const { body } = await mandate.untilReady({ accept: 'application/json' });
        expect(Object.keys(Object(body.checks))).to.deep.equal([
          ...['database', 'clock', 'signing_key', 'sealing', 'identity_provider_keys'],
        ]);
      });
    });
  });
}
