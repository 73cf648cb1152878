import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { newNoteKey, readNoteSigner, verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { httpWitnesses } from '../../../adapters/outbound/http-witnesses.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { openHandle } from '../../../adapters/storage/sqlite/handle.ts';
import { openSqlite } from '../../../adapters/storage/sqlite/open.ts';
import type { Storage } from '../../../adapters/storage/storage.ts';
import { logGrowing } from '../../../application/log/grow-log.ts';
import { logWitnessing, type Witnessing } from '../../../application/log/witnessing.ts';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import type { AskWitness, LogWitness } from '../../../application/ports/log-witnesses.ts';
import { ED25519, formatVerifierKey, parseVerifierKey } from '../../../domain/log/verifier-key.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { chainOf } from '../../support/ledger/chain.ts';
import { type LedgerFixture, ledgerFixture } from '../../support/ledger-fixture.ts';
import { type ServedWitness, servedWitness } from '../../support/log/served-witness.ts';
import { cosignedAt } from '../../support/log/written-log.ts';
import { answering, type Handler, loopbackForSuite } from '../../support/loopback.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';

const ORIGIN = 'mandate.test/ledger';
/** Far more than a request takes. A witness that never answers is waited for this long. */
const PATIENCE_MS = 2_000;

describe('The witnessing of the log', function () {
  this.timeout(60_000);
  let fixture: LedgerFixture;
  let folder: string;
  let signer: NoteSigner;
  const all: ServedWitness[] = [];
  const opened: Storage[] = [];
  const clock = movedClock();

  before(async () => {
    const pem = newNoteKey().reveal();
    const read = await readNoteSigner(pem, { hash: sha256Bytes, name: ORIGIN, type: ED25519 });
    if (read.kind !== 'read') throw new Error(read.problem);
    signer = read.signer;
  });
  beforeEach(async () => {
    fixture = await ledgerFixture();
    folder = mkdtempSync(join(tmpdir(), 'mandate-witnessing-'));
    log.lines.length = 0;
  });
  afterEach(async () => {
    for (const witness of all.splice(0)) await witness.close();
    for (const storage of opened.splice(0)) await storage.close();
    await fixture.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const witnesses = async (count: number): Promise<readonly ServedWitness[]> => {
    const made: ServedWitness[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const witness = await servedWitness(`witness.test/${all.length}`, clock);
      witness.watch(formatVerifierKey(signer.key));
      all.push(witness);
      made.push(witness);
    }
    return made;
  };
  const asPort = ({ url, vkey }: Pick<ServedWitness, 'url' | 'vkey'>): LogWitness => {
    const key = parseVerifierKey(sha256Bytes, vkey);
    if (key === undefined) throw new Error(vkey);
    return { url, key };
  };
  const grow = (storage: Storage = fixture.storage) =>
    logGrowing({
      log: storage.transparencyLog,
      checkpoints: storage.checkpoints,
      chain: chainOf(storage.checkpoints),
      signer,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      hasWitnesses: true,
    })();
  /** Seals this many checkpoints, and adds them to the log. */
  const grown = async (count: number) => {
    for (let nth = 0; nth < count; nth += 1) await fixture.sealed(1);
    expect((await grow()).kind).to.equal('current');
  };
  const log = capturedLog();
  const serviceOf = (
    asked: readonly Pick<ServedWitness, 'url' | 'vkey'>[],
    changes: Partial<Witnessing> = {},
    storage: Storage = fixture.storage,
  ): Witnessing => ({
    transparencyLog: storage.transparencyLog,
    witnesses: asked.map(asPort),
    quorum: 1,
    clock,
    log,
    sharedTime: agreeing(clock),
    ask: httpWitnesses(httpNetwork(), PATIENCE_MS),
    verify: verifyEd25519,
    hash: sha256Bytes,
    ...changes,
  });
  /** One pass of a process that has just started. */
  const witnessed = (...service: Parameters<typeof serviceOf>) => logWitnessing(serviceOf(...service))();
  const stateOf = async (storage: Storage = fixture.storage) => {
    const state = await storage.transparencyLog.state();
    if (state === undefined) throw new Error('the log has not begun');
    return state;
  };
  const problems = async (storage: Storage = fixture.storage) =>
    (await storage.transparencyLog.problems()).map(({ witness, kind, detail }) => [witness, kind, detail]);
  /** The witnesses whose cosignatures of its text the published note has. */
  const published = async (storage: Storage = fixture.storage) => {
    const { note = '', size } = (await stateOf(storage)).published ?? {};
    const [text = '', signatures = ''] = note.split('\n\n');
    const [, ...cosignatures] = signatures.split(/(?<=\n)/);
    const names = cosignatures.map((line) => {
      const witness = all.find(({ vkey }) => line.startsWith(`— ${vkey.split('+')[0]} `));
      if (witness === undefined) throw new Error(line);
      expect(cosignedAt(line, witness.vkey, `${text}\n`)).to.be.greaterThan(0);
      return line.split(' ')[1];
    });
    return { size, names };
  };
  /** A copy of the database, as a backup is. */
  const copied = async () => {
    const path = join(folder, `${opened.length}.sqlite`);
    fixture.withoutTriggers.exec(`vacuum into '${path}'`);
    const storage = await openSqlite({ path }, { clock, log: capturedLog() });
    opened.push(storage);
    return { storage, path };
  };

  it('publishes the note with the cosignatures of all witnesses, each time that the log has grown', async () => {
    const three = await witnesses(3);
    const names = three.map(({ vkey }) => vkey.split('+')[0]);
    for (const by of [1, 1, 4, 260]) {
      await grown(by);
      await witnessed(three);
      expect(await published()).to.deep.equal({ size: (await stateOf()).size, names });
    }
    expect(log.lines).to.deep.equal([]);
  });

  it('shows a witness each tree once, again after an hour, and none before the first tree', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    const asked: string[] = [];
    const ask: AskWitness = (one, body) => {
      asked.push(body);
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    const pass = logWitnessing(serviceOf([witness], { ask }));
    await pass();
    await grown(2);
    for (let time = 0; time < 3; time += 1) await pass();
    expect(asked).to.have.length(1);
    const before = (await stateOf()).published?.note;
    clock.advance(3601);
    for (let time = 0; time < 3; time += 1) await pass();
    expect(asked).to.have.length(2);
    expect((await stateOf()).published?.note).not.to.equal(before);
    await grown(1);
    await pass();
    expect(asked).to.have.length(3);
  });

  it('publishes nothing newer until a quorum has cosigned', async () => {
    const [one, two, three] = (await witnesses(3)) as [ServedWitness, ServedWitness, ServedWitness];
    await grown(3);
    await witnessed([one, two, three], { quorum: 2 });
    await two.goDown();
    await three.goDown();
    await grown(2);
    await witnessed([one, two, three], { quorum: 2 });
    expect((await published()).size).to.equal(3);
    await two.comeBack();
    await witnessed([one, two, three], { quorum: 2 });
    expect(await published()).to.deep.equal({ size: 5, names: ['witness.test/0', 'witness.test/1'] });
    await three.comeBack();
  });

  it('waits for a witness that is down for a day, says so once, and needs one request when it is back', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(2);
    await witnessed([witness]);
    await witness.goDown();
    for (let hour = 0; hour < 24; hour += 1) {
      await grown(1);
      clock.advance(3600);
      await witnessed([witness]);
    }
    expect(await problems()).to.deep.equal([['witness.test/0', 'unavailable', 'There was no answer (ECONNREFUSED).']]);
    const [{ since } = { since: 0 }] = await fixture.storage.transparencyLog.problems();
    expect((clock.now() - since) / 3.6e9).to.be.closeTo(23, 0.1);
    await witness.comeBack();
    let requests = 0;
    const ask: AskWitness = (one, body) => {
      requests += 1;
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    await witnessed([witness], { ask });
    expect([requests, (await published()).size, await problems()]).to.deep.equal([1, 26, []]);
    expect(log.lines.map((line) => JSON.parse(line).message)).to.deep.equal([
      'a witness does not cosign the log',
      'a witness cosigns the log again',
    ]);
  });

  it('resends from the size that the witness names', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(3);
    await witnessed([witness]);
    fixture.withoutTriggers.exec('delete from log_cosignatures');
    await grown(4);
    await witnessed([witness]);
    expect([await published(), log.lines]).to.deep.equal([{ size: 7, names: ['witness.test/0'] }, []]);
  });

  it('says of a witness that it has lost its state, and lets it cosign again', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(3);
    await witnessed([witness]);
    const state = openHandle(witness.path);
    state.exec('drop trigger never_forgotten; delete from witnessed_logs');
    state.close();
    await grown(1);
    await witnessed([witness]);
    expect((await published()).size).to.equal(4);
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      {
        level: 'warn',
        message: 'a witness has lost checkpoints that it cosigned',
        witness: 'witness.test/0',
        cosigned: 3,
        named: 0,
      },
    ]);
  });

  it('lets the passes of several replicas run together', async () => {
    const two = await witnesses(2);
    await grown(5);
    await Promise.all(Array.from({ length: 5 }, () => witnessed(two)));
    expect((await published()).names).to.deep.equal(['witness.test/0', 'witness.test/1']);
    expect([await problems(), (await stateOf()).halted]).to.deep.equal([[], undefined]);
  });

  it('does not take a larger tree of another replica for a database that went back in time', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(2);
    const ask: AskWitness = async (one, body) => {
      await grown(3);
      await witnessed([witness]);
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    await witnessed([witness], { ask });
    expect([(await stateOf()).halted, await problems()]).to.deep.equal([undefined, []]);
    expect((await published()).size).to.equal(5);
  });

  describe('finds and names', () => {
    it('a restored backup: the log halts, and no further tree is signed', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      for (const by of [2, 1]) {
        await grown(by);
        await witnessed([witness]);
      }
      const { storage: backup } = await copied();
      await grown(2);
      await witnessed([witness]);

      expect((await published(backup)).size).to.equal(3);
      await witnessed([witness], {}, backup);
      const detail = '5 leaves, and the database has 3.';
      expect(await published(backup)).to.deep.equal({ size: 2, names: ['witness.test/0'] });
      expect((await stateOf(backup)).halted).to.equal(
        `The witness witness.test/0 has cosigned a larger tree: ${detail}`,
      );
      expect(await problems(backup)).to.deep.equal([['witness.test/0', 'ahead', detail]]);
      expect((await grow(backup)).kind).to.equal('halted');
      expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
        {
          level: 'warn',
          message: 'a witness does not cosign the log',
          witness: 'witness.test/0',
          problem: `The witness witness.test/0 has cosigned a larger tree: ${detail}`,
        },
      ]);
    });

    it('a tail that was cut off, also if the tables of the log were emptied', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      await grown(5);
      await witnessed([witness]);
      fixture.withoutTriggers.exec(`delete from ledger where seq > (select last_seq from checkpoints where checkpoint_id = 3);
        delete from checkpoints where checkpoint_id > 3;
        delete from log_state; delete from log_tiles; delete from log_cosignatures`);
      await fixture.restart();
      await grown(0);
      await witnessed([witness]);
      expect(await problems()).to.deep.equal([['witness.test/0', 'ahead', '5 leaves, and the database has 3.']]);
    });

    for (const after of [0, 3]) {
      it(`checkpoints that the owner of database and keys rewrote, ${after} of them new`, async () => {
        const [witness] = (await witnesses(1)) as [ServedWitness];
        await grown(3);
        await witnessed([witness]);
        const before = await stateOf();
        fixture.withoutTriggers.exec(`delete from checkpoints where checkpoint_id > 1;
          update ledger set sponsor = 'eve' where seq = 2;
          delete from log_state; delete from log_tiles; delete from log_cosignatures`);
        expect((await fixture.seal()).kind).to.equal('sealed');
        await grown(1 + after);
        expect((await stateOf()).size).to.equal(before.size + after);
        await witnessed([witness]);
        expect(await problems()).to.deep.equal([['witness.test/0', 'contradicted', undefined]]);
        expect((await stateOf()).published).to.equal(undefined);
      });
    }

    it('two databases with one key that show two ends to two readers: the witness that both ask', async () => {
      const [one, other, both] = (await witnesses(3)) as [ServedWitness, ServedWitness, ServedWitness];
      await grown(3);
      await witnessed([one, other, both]);
      const fork = await copied();
      // The clock of the second database's records differs, so its checkpoints do.
      fixture.clock.advance(60);
      await grown(2);
      const line = openHandle(fork.path);
      line.exec('insert into ledger (ts, event, decision) select ts + 1, event, decision from ledger where seq = 1');
      line.close();
      const { checkpoints } = fork.storage;
      await fixture.seal({ checkpoints, chain: chainOf(checkpoints) });
      await grow(fork.storage);
      // Each end has a different witness, and both are cosigned.
      await witnessed([one]);
      await witnessed([other], {}, fork.storage);
      expect([await published(), await published(fork.storage)]).to.deep.equal([
        { size: 5, names: ['witness.test/0'] },
        { size: 4, names: ['witness.test/1'] },
      ]);
      expect([await problems(), await problems(fork.storage)]).to.deep.equal([[], []]);
      await witnessed([one, both]);
      await witnessed([other, both], {}, fork.storage);
      expect((await problems(fork.storage)).map(([name]) => name)).to.deep.equal(['witness.test/2']);
    });
  });

  describe('with a witness that misbehaves', () => {
    const server = loopbackForSuite();
    const redirect: Handler = (_, response) => response.writeHead(307, { location: `${server.url}/elsewhere` }).end();
    const unusable = "The answer holds no valid cosignature of the witness's key.";
    const conflict =
      (size: number | string): Handler =>
      (_, response) =>
        response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${size}\n`);
    for (const [what, kind, detail, handler] of [
      ['redirects', 'wrong_answer', "The answer's status was 307.", redirect],
      ['answers 10 MB', 'wrong_answer', 'The answer is longer than 65536 bytes.', answering('x'.repeat(10_000_000))],
      ['never answers', 'unavailable', `There was no complete answer within ${PATIENCE_MS} ms.`, () => undefined],
      ['cuts the connection', 'unavailable', 'There was no answer (ECONNRESET).', (_, response) => response.destroy()],
      ['answers 500', 'unavailable', "The answer's status was 500.", answering('', 500)],
      ['answers 429', 'unavailable', "The answer's status was 429.", answering('', 429)],
      ['answers 400', 'wrong_answer', "The answer's status was 400.", answering('', 400)],
      ['answers 403', 'unknown_key', undefined, answering('', 403)],
      ['answers 404', 'unknown_log', undefined, answering('', 404)],
      ['answers 422', 'contradicted', undefined, answering('', 422)],
      ['answers 409 without a size', 'contradicted', undefined, answering('no', 409)],
      ['answers nothing with 200', 'wrong_answer', unusable, answering('')],
      ['signs with another key', 'wrong_answer', unusable, answering(`— x.test/y ${'A'.repeat(100)}\n`)],
      ['refuses the size that it named', 'wrong_answer', 'It refused the size that it named.', conflict(0)],
      ['names the size of the tree each time', 'wrong_answer', 'It refused the size that it named.', conflict(2)],
    ] as const satisfies readonly (readonly [string, string, string | undefined, Handler])[]) {
      it(`names one that ${what}, and goes on with the others`, async () => {
        const [good, bad] = (await witnesses(2)) as [ServedWitness, ServedWitness];
        server.answer = handler;
        await grown(2);
        const asked = [good, { url: server.url, vkey: bad.vkey }];
        await witnessed(asked);
        await witnessed(asked);
        expect(await problems()).to.deep.equal([['witness.test/1', kind, detail]]);
        const shown = kind === 'contradicted' ? { size: undefined, names: [] } : { size: 2, names: ['witness.test/0'] };
        expect(await published()).to.deep.equal(shown);
        expect([log.lines.length, (await stateOf()).halted]).to.deep.equal([1, undefined]);
        expect(server.received.every(({ path }) => path === '/add-checkpoint')).to.equal(true);
      });
    }

    for (const [what, handler] of [
      ['answers 422', answering('', 422)],
      ['answers 409 without a size', answering('no', 409)],
    ] as const) {
      it(`shows readers the note before, once it ${what}, and a later one that it cosigns`, async () => {
        const [good, other] = (await witnesses(2)) as [ServedWitness, ServedWitness];
        const bad = { url: server.url, vkey: other.vkey };
        await grown(1);
        await witnessed([good, other]);
        await grown(2);
        server.answer = answering('', 500);
        await witnessed([good, bad]);
        expect(await published()).to.deep.equal({ size: 3, names: ['witness.test/0'] });
        server.answer = handler;
        await witnessed([good, bad]);
        const before = { size: 1, names: ['witness.test/0', 'witness.test/1'] };
        expect(await published()).to.deep.equal(before);
        // Another replica may still have the cosignatures of a quorum.
        await witnessed([good]);
        expect(await published()).to.deep.equal(before);
        await grown(1);
        await witnessed([good, bad]);
        expect(await published()).to.deep.equal(before);
        expect((await stateOf()).size).to.equal(4);
        await grown(1);
        await witnessed([good, other]);
        expect(await published()).to.deep.equal({ size: 5, names: ['witness.test/0', 'witness.test/1'] });
      });
    }

    it('publishes no cosignature that is dated more than five minutes from its own time', async () => {
      const [good] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      for (const [nth, [difference, isAccepted]] of (
        [
          [-290, true],
          [290, true],
          [-310, false],
          [310, false],
          [-clock.seconds(), false],
          [1e9, false],
        ] as const
      ).entries()) {
        const own = movedClock();
        const witness = await servedWitness(`clock.test/${nth}`, own);
        witness.watch(formatVerifierKey(signer.key));
        all.push(witness);
        own.advance(clock.seconds() - own.seconds() + difference);
        await witnessed([good, witness]);
        const names = ['witness.test/0', ...(isAccepted ? [`clock.test/${nth}`] : [])];
        expect(await published(), String(difference)).to.deep.equal({ size: 1, names });
        const found = (await fixture.storage.transparencyLog.problems()).find(
          ({ witness: name }) => name === `clock.test/${nth}`,
        );
        expect(found?.kind).to.equal(isAccepted ? undefined : 'wrong_clock');
        if (found === undefined) continue;
        expect(Date.parse(found.detail?.slice('It dated a cosignature '.length, -1) ?? '') / 1000).to.be.closeTo(
          clock.seconds() + difference,
          3,
        );
      }
    });

    it('accuses no witness whose time is that of one of its two clocks', async () => {
      const [good] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      for (const [nth, difference] of [3600, -3600].entries()) {
        const wrong = movedClock();
        wrong.advance(clock.seconds() - wrong.seconds() + difference);
        const [earlier, later] = difference > 0 ? [clock, wrong] : [wrong, clock];
        const sharedTime = { earliest: () => earlier.now(), latest: () => later.now() };
        await grown(1);
        await witnessed([good], { clock: wrong, sharedTime });
        expect(await problems()).to.deep.equal([]);
        expect(await published()).to.deep.equal({ size: 2 + nth, names: ['witness.test/0'] });
      }
    });

    it('publishes no stored cosignature that had another time than its own when it was stored', async () => {
      const [good, other] = (await witnesses(2)) as [ServedWitness, ServedWitness];
      await grown(1);
      await witnessed([good, other]);
      expect((await published()).names).to.have.length(2);
      fixture.withoutTriggers.exec(
        "update log_cosignatures set at = at - 400000000 where witness = 'witness.test/1'; update log_state set published_size = null, published_note = null",
      );
      await other.goDown();
      await witnessed([good, other]);
      expect((await published()).names).to.deep.equal(['witness.test/0']);
      await other.comeBack();
    });

    it('ends a conversation with one that names another size each time', async () => {
      const [bad] = (await witnesses(1)) as [ServedWitness];
      await grown(9);
      let size = 0;
      server.answer = (request, response) => {
        size += 1;
        conflict(size)(request, response);
      };
      await witnessed([{ url: server.url, vkey: bad.vkey }]);
      expect(server.received).to.have.length(4);
      expect((await stateOf()).published).to.equal(undefined);
      expect(await problems()).to.deep.equal([
        ['witness.test/0', 'wrong_answer', 'It named another size at each of 4 requests.'],
      ]);
    });

    it('keeps the begin of a problem while only its detail changes, and logs it once', async () => {
      const [bad] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      const begins: number[] = [];
      for (const status of [500, 502, 503]) {
        server.answer = answering('', status);
        await witnessed([{ url: server.url, vkey: bad.vkey }]);
        const [{ since } = { since: 0 }] = await fixture.storage.transparencyLog.problems();
        begins.push(since);
        clock.advance(3600);
      }
      expect(new Set(begins)).to.have.property('size', 1);
      expect((await problems())[0]?.[2]).to.equal("The answer's status was 503.");
      expect(log.lines).to.have.length(1);
    });

    it('refuses the cosignature of an older tree, and a cosignature whose bits were changed', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      await witnessed([witness]);
      const [{ line } = { line: '' }] = await fixture.storage.transparencyLog.cosignatures();
      await grown(1);
      const [name = '', encoded = ''] = line.slice(2).split(' ');
      for (let at = 0; at < 76; at += 5) {
        const bytes = Buffer.from(encoded, 'base64');
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        server.answer = answering(at === 0 ? `${line}\n` : `— ${name} ${bytes.toString('base64')}\n`);
        await witnessed([{ url: server.url, vkey: witness.vkey }]);
        expect(await problems()).to.deep.equal([['witness.test/0', 'wrong_answer', unusable]]);
      }
      expect((await published()).size).to.equal(1);
    });
  });
});
