/** The transparency log over the checkpoints (`Service:Audit:Log`; C2SP tlog-tiles, tlog-checkpoint v1.0.0). */

import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { rootOfPath, treeHash } from '../support/independent-ledger/tree-recursion.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { type Answer, type Mandate, startMandate } from '../support/mandate.ts';
import { hashLeaf, logKeySettings, pemOf, readNote, sha256 } from '../support/transparency-log.ts';

const ORIGIN = 'mandate.test/ledger';
const PATHS = ['/log/checkpoint', '/log/keys', '/log/tile/0/000', '/log/tile/entries/000.p/1'];
const TILE = 256;

interface PublishedKey {
  readonly kid: string;
  readonly use: 'checkpoint' | 'log';
  readonly vkey?: string;
  readonly jwk?: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string | null;
}

const keysIn = ({ body }: Answer) => body.keys as readonly PublishedKey[];
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** RFC 7638 §3.2, RFC 8037 §2: the thumbprint of a key of the log. */
function thumbprintOf(key: PublishedKey | undefined): string {
  const typed = Buffer.from(key?.vkey?.split('+').slice(2).join('+') ?? '', 'base64');
  const x = typed.subarray(1).toString('base64url');
  return sha256(Buffer.from(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)).toString('base64url');
}

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
    const logKey = logKeySettings();
    let signing: Readonly<Record<string, string>>;
    let on: Readonly<Record<string, string>>;
    /** All are configured everywhere, as in a rotation: an instance does not seal over checkpoints of an unknown key. */
    let signingKeys: readonly SealingKey[];
    let mandate: Mandate;
    let fresh: FreshDatabase;
    before(async () => {
      fresh = await database.fresh();
      signingKeys = await Promise.all(Array.from({ length: 4 }, () => makeSealingKey()));
      const pems = signingKeys.map(({ pem }, nth) => [`Service:Signing:Keys:${nth}:Pem`, pem]);
      signing = { ...Object.fromEntries(pems), ...active(0) };
      on = { ...signing, ...logKey, 'Service:Audit:Log:Public': 'true' };
      mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings: on });
    });
    after(() => mandate.stop());

    const active = (nth: number) => ({ 'Service:Signing:ActiveKid': signingKeys[nth]?.signer.kid ?? '' });

    /** Seals one record, this many times, and lets the log grow. */
    async function seal(count: number): Promise<void> {
      for (let nth = 0; nth < count; nth += 1) {
        await mandate.block(`person-${randomUUID()}`, 'disabled');
        await mandate.jobs.seal();
      }
      await mandate.jobs.growLog();
      // An instance reads the state at most once a second.
      mandate.clock.advance(1);
    }

    const bytesAt = async (path: string) => Buffer.from(await (await fetch(`${mandate.url}${path}`)).arrayBuffer());
    const vkey = async () =>
      keysIn(await mandate.get('/log/keys')).find(({ use, to }) => use === 'log' && to === null)?.vkey ?? '';
    const noteNow = async () => readNote((await mandate.get('/log/checkpoint')).text, await vkey());

    /** The elements of `GET /audit/checkpoints`, as its answers print them. */
    async function checkpointTexts(): Promise<readonly string[]> {
      const texts: string[] = [];
      for (let after = 0, more = true; more; after = texts.length) {
        const { text, body } = await mandate.admin('GET', `/audit/checkpoints?limit=1000&after=${after}`);
        texts.push(...(text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).match(/\{[^}]*\}/g) ?? []));
        more = body.next_after !== null;
      }
      return texts;
    }

    it('publishes the signed note of an empty tree before the first checkpoint', async () => {
      const answer = await mandate.get('/log/checkpoint');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=1');
      expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
      expect(await noteNow()).to.deep.equal({ origin: ORIGIN, size: 0, root: treeHash([]), cosignatures: [] });
    });

    it('lists the keys that sign, and has their thumbprints in the ledger', async () => {
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
        const answer = await mandate.get(`/log/tile/${path}`);
        expect(answer.status).to.equal(404);
        expect(answer.headers.get('content-type')).to.include('application/problem+json');
      });
    }

    it('proves on request that the checkpoint of a record is in it, and says null until it is', async () => {
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

    it('refuses a proof with another value of log', async () => {
      for (const query of ['log=yes', 'log=', 'log=true&log=true', 'log=%ff']) {
        const answer = await mandate.admin('GET', `/audit/records/1/proof?${query}`);
        expect([answer.status, Object.keys(Object(answer.body.errors))], query).to.deep.equal([400, ['log']]);
      }
    });

    it('answers HEAD, and nothing at other paths', async () => {
      const head = await mandate.send('/log/checkpoint', { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      for (const path of ['/log', '/log/', '/log/other', '/log/checkpoint/']) {
        expect((await mandate.get(path)).status, path).to.equal(404);
      }
    });

    it('needs the admin key if it is not public, and records who lacks it', async () => {
      const closed = await mandate.another({ 'Service:Audit:Log:Public': 'false' });
      try {
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
      } finally {
        await closed.stop();
      }
    });

    it('grows to one tree on two instances that run at once', async () => {
      const other = await mandate.another({});
      try {
        for (let round = 0; round < 5; round += 1) {
          await mandate.block(`person-${round}`, 'disabled');
          await mandate.jobs.seal();
          await Promise.all([mandate.jobs.growLog(), other.jobs.growLog()]);
        }
        mandate.clock.advance(1);
        other.clock.advance(1);
        const [note, others] = await Promise.all([mandate.get('/log/checkpoint'), other.get('/log/checkpoint')]);
        expect(others.text).to.equal(note.text);
        const leaves = (await checkpointTexts()).map((text) => hashLeaf(Buffer.from(text)));
        const { size, root } = await noteNow();
        expect([size, hex(root)]).to.deep.equal([leaves.length, hex(treeHash(leaves))]);
      } finally {
        await other.stop();
      }
    });

    it('records another signing key and another key of the log, once, and names the former signing key', async () => {
      const before = keysIn(await mandate.get('/log/keys'));
      let keys: readonly PublishedKey[] = [];
      const records = await mandate.recorded(async () => {
        for (let start = 0; start < 2; start += 1) {
          const next = await mandate.another({ ...active(1), ...nextLogKey });
          await next.block(`start-${start}`, 'disabled');
          await next.jobs.seal();
          await next.jobs.growLog();
          keys = keysIn(await next.get('/log/keys'));
          await next.stop();
        }
      });
      mandate.clock.advance(1);
      expect(keys[0]?.kid).to.equal(before[0]?.kid);
      const logKey = keys.find(({ use }) => use === 'log');
      const changes = records.filter(({ event }) => String(event).startsWith('key.'));
      expect(changes.map(({ event, detail }) => [event, detail])).to.deep.equal([
        ['key.retired', before[0]?.kid],
        ['key.activated', keys.find(({ use, to }) => use === 'checkpoint' && to === null)?.kid],
        ['key.retired', thumbprintOf(before[1])],
        ['key.activated', thumbprintOf(logKey)],
      ]);
      // A replica names only its own key of the log.
      expect(keys.filter(({ use }) => use === 'log')).to.deep.equal([{ ...logKey, to: null }]);
      expect(keys.filter(({ to }) => to !== null).map(({ kid }) => kid)).to.deep.equal([before[0]?.kid]);
      const note = readNote((await mandate.get('/log/checkpoint')).text, logKey?.vkey ?? '');
      expect(note.size).to.equal((await checkpointTexts()).length);
    });
    const nextLogKey = logKeySettings();

    it('records a key that signed while the log was off, if it is still configured', async () => {
      const off = { 'Service:Audit:Log:Key:Pem': '', 'Service:Audit:Log:Public': '' };
      const without = await mandate.another({ ...off, ...active(2) });
      await without.block('while-off', 'disabled');
      await without.jobs.seal();
      await without.stop();
      const next = await mandate.another(active(3));
      try {
        next.clock.advance(1);
        const keys = keysIn(await next.get('/log/keys')).filter(({ use }) => use === 'checkpoint');
        const found = keys.find(({ kid }) => kid === signingKeys[2]?.signer.kid);
        expect(found?.to).to.be.a('string');
        expect(keys.find(({ to }) => to === null)?.kid).to.equal(signingKeys[3]?.signer.kid);
        const records = (await next.ledger()).filter(({ detail }) => detail === found?.kid);
        expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['key.retired', 'checkpoint_key']]);
      } finally {
        await next.stop();
      }
    });

    it('says its state at /readyz', async () => {
      const { body } = await mandate.untilReady({ accept: 'application/json' });
      const { log } = body.checks as Readonly<Record<string, { status: string; detail: string }>>;
      expect(log?.status).to.equal('Healthy');
      expect(log?.detail).to.match(/^The log has \d+ leaves\.$/);
    });

    it('does not start with another origin, and names both and the command', async () => {
      const refused = await mandate
        .another({ 'Service:Audit:Log:Origin': 'other.example/ledger' })
        .then((other) => other.stop())
        .catch((error: unknown) => String(error));
      expect(refused).to.include('other.example/ledger').and.include(ORIGIN).and.include('mandate log adopt-origin');
    });

    it('takes another origin by mandate log adopt-origin, and signs its tree under it', async function () {
      this.timeout(180_000);
      const settings = {
        ...fresh.settings,
        ...on,
        'Service:Issuer': mandate.issuer,
        NODE_ENV: 'development',
        'Service:UpstreamIdp:Issuer': mandate.provider.issuer,
        'Service:UpstreamIdp:Audience': 'mandate',
        'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      };
      const adopt = (changes: Readonly<Record<string, string>>) =>
        runMandate(['log', 'adopt-origin'], { ...settings, ...changes });
      const off = await adopt({ 'Service:Audit:Log:Key:Pem': '', 'Service:Audit:Log:Public': '' });
      expect([off.code, off.out]).to.deep.equal([1, '']);
      expect(off.err).to.include('Service:Audit:Log:Key is not set');
      // Another instance may have left the note signed by its own key: this one signs the next.
      await seal(1);
      const before = await noteNow();
      const other = { 'Service:Audit:Log:Origin': 'other.example/ledger' };
      const done = await adopt(other);
      expect([done.code, done.err]).to.deep.equal([0, '']);
      expect(done.out).to.include(ORIGIN).and.include('is now other.example/ledger');
      // The instance with the former name signs nothing, and says so.
      await mandate.jobs.growLog();
      mandate.clock.advance(1);
      expect((await mandate.get('/log/checkpoint')).status).to.equal(404);
      const said = mandate.log.lines.map((line) => JSON.parse(line));
      const halt = said.find(({ message }) => message === 'the transparency log does not grow');
      expect(halt?.problem).to.include(ORIGIN).and.include('other.example/ledger');
      const renamed = await mandate.another(other);
      try {
        const key = keysIn(await renamed.get('/log/keys')).findLast(({ use, to }) => use === 'log' && to === null);
        const note = readNote((await renamed.get('/log/checkpoint')).text, key?.vkey ?? '');
        expect([note.origin, note.size]).to.deep.equal(['other.example/ledger', before.size]);
        expect(hex(note.root)).to.equal(hex(before.root));
      } finally {
        await renamed.stop();
      }
      expect((await adopt({})).code).to.equal(0);
      await mandate.jobs.growLog();
      mandate.clock.advance(1);
      expect((await mandate.get('/log/checkpoint')).text).to.match(/^mandate\.test\/ledger\n/);
    });

    it('does not start with a key that signs tokens, or that is no Ed25519 key', async () => {
      const wrong: readonly (readonly [string, string])[] = [
        [signing['Service:Signing:Keys:0:Pem'] ?? '', 'is also a key that signs tokens'],
        [pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), 'is not an Ed25519 key'],
        [pemOf(generateKeyPairSync('x25519').privateKey), 'is not an Ed25519 key'],
        [pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey), 'is not an Ed25519 key'],
        ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', 'is not an Ed25519 private key'],
      ];
      for (const [pem, problem] of wrong) {
        const refused = await mandate
          .another({ 'Service:Audit:Log:Key:Pem': pem })
          .then((other) => other.stop())
          .catch((error: unknown) => String(error));
        expect(refused).to.include('Service:Audit:Log:Key:Pem').and.include(problem).and.not.include(pem.slice(40, 60));
      }
    });
  });

  describe(`Keys of checkpoints in the transparency log on ${database.name}`, () => {
    it('are named after they are no longer configured, once a later checkpoint seals the record of it', async () => {
      const [former, next] = await Promise.all([makeSealingKey(), makeSealingKey()]);
      const log = { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
      const half = createPublicKey(former.pem).export({ type: 'spki', format: 'pem' }).toString();
      const first = await startMandate({ database, settings: { ...log, 'Service:Signing:Keys:0:Pem': former.pem } });
      await first.block('ada', 'disabled');
      await first.jobs.seal();
      const alone = { 'Service:Signing:Keys:0:Pem': next.pem };
      const both = { 'Service:Signing:Keys:1:Pem': half, 'Service:Signing:ActiveKid': next.signer.kid };
      const second = await first.another({ ...alone, ...both });
      const kidsOf = async (of: Mandate) =>
        keysIn(await of.get('/log/keys')).flatMap(({ kid, use }) => (use === 'checkpoint' ? [kid] : []));
      // The record of its retirement is not sealed yet.
      const early = await first.another(alone);
      expect(await kidsOf(early)).to.deep.equal([next.signer.kid]);
      await early.stop();
      await second.jobs.seal();
      const last = await first.another(alone);
      expect(await kidsOf(last)).to.deep.equal([former.signer.kid, next.signer.kid]);
      await Promise.all([last.stop(), second.stop()]);
      await first.stop();
    });
  });

  describe(`Without its key the transparency log on ${database.name}`, () => {
    it('leaves no path, no record, no row and no check', async () => {
      const mandate = await startMandate({ database });
      try {
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
      } finally {
        await mandate.stop();
      }
    });
  });
}
