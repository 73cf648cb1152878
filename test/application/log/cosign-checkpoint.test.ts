import { expect } from 'chai';
import fc from 'fast-check';
import { byLength } from '../../support/length.ts';
import { type TestWitness, testWitness } from '../../support/log/test-witness.ts';
import { cosignedAt, type WrittenLog, writtenLog } from '../../support/log/written-log.ts';

const HISTORIES = byLength({ short: 50, full: 1000 });

describe('A witness', () => {
  let witness: TestWitness;
  let log: WrittenLog;
  let logs = 0;
  let shared: TestWitness;
  before(async () => {
    shared = await testWitness();
  });
  after(() => shared.close());
  beforeEach(() => {
    witness = shared;
    log = writtenLog(`log.test/${logs++}`);
    witness.watch(log.vkey);
  });
  afterEach(async () => {
    if (witness !== shared) await witness.close();
  });
  /** For a test whose clock would trouble the others. */
  const alone = async () => {
    witness = await testWitness();
    witness.watch(log.vkey);
  };

  const kind = async (body: string) => (await witness.cosign(body)).kind;
  const newest = async () => (await witness.file.logs.newest(log.origin))?.size;
  const grown = async (size: number) => {
    log.grow(size);
    expect(await kind(log.request(0))).to.equal('cosigned');
  };

  it('cosigns the first checkpoint of a log, and then each that continues the last one', async () => {
    for (const by of [1, 0, 1, 5, 0, 250, 7]) {
      const oldSize = log.size;
      log.grow(by);
      const outcome = await witness.cosign(log.request(oldSize));
      if (outcome.kind !== 'cosigned') throw new Error(outcome.kind);
      expect(cosignedAt(outcome.line, witness.vkey, log.text())).to.be.closeTo(witness.clock.seconds(), 2);
      const stored = await witness.file.logs.newest(log.origin);
      expect(stored).to.include({ size: log.size, note: log.note() + outcome.line });
    }
  });

  it('cosigns the checkpoint of an empty log, but no other root of size 0', async () => {
    const other = log.note().replace(/\n0\n.*\n/, `\n0\n${Buffer.alloc(32).toString('base64')}\n`);
    expect(await kind(`old 0\n\n${other}`)).to.equal('untrusted_signature');
    expect(await kind(log.request(0))).to.equal('cosigned');
    log.grow(3);
    expect(await kind(log.request(0))).to.equal('cosigned');
  });

  it('refuses an old size that is not that of the last one, and names that size', async () => {
    await grown(5);
    log.grow(5);
    for (const oldSize of [0, 4, 6, 10]) {
      expect(await witness.cosign(log.request(oldSize))).to.deep.equal({ kind: 'other_old_size', size: 5 });
    }
    expect(await witness.cosign(log.request(0, 4))).to.deep.equal({ kind: 'other_old_size', size: 5 });
    expect(await kind(log.request(5, 4))).to.equal('old_size_above_new');
    expect(await newest()).to.equal(5);
  });

  it('refuses another root of the same size, and a log that does not continue the last one', async () => {
    await grown(5);
    const fork = log.fork(4);
    fork.grow(1);
    expect(await witness.cosign(fork.request(5))).to.deep.include({ kind: 'other_root', note: fork.note() });
    fork.grow(2);
    for (const proof of [fork.proof(5), fork.proof(4), [], log.proof(5)]) {
      const lines = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('');
      const refused = await witness.cosign(`old 5\n${lines}\n${fork.note()}`);
      expect(refused).to.deep.include({ kind: 'inconsistent', note: fork.note() });
      expect('newest' in refused && refused.newest?.note).to.include(log.note());
    }
    expect(await newest()).to.equal(5);
  });

  it('refuses a proof for a first checkpoint and for an equal size, and each proof with a changed bit', async () => {
    log.grow(7);
    const [hash = ''] = [Buffer.alloc(32).toString('base64')];
    expect(await kind(`old 0\n${hash}\n\n${log.note()}`)).to.equal('inconsistent');
    expect(await kind(log.request(0))).to.equal('cosigned');
    expect(await kind(`old 7\n${hash}\n\n${log.note()}`)).to.equal('inconsistent');
    log.grow(6);
    const proof = log.proof(7);
    for (const [at] of proof.entries()) {
      const changed = proof.map((node, nth) => (nth === at ? Buffer.from(node).fill((node[0] ?? 0) ^ 1, 0, 1) : node));
      const lines = changed.map((node) => `${Buffer.from(node).toString('base64')}\n`).join('');
      expect(await kind(`old 7\n${lines}\n${log.note()}`)).to.equal('inconsistent');
    }
    expect(await kind(log.request(7))).to.equal('cosigned');
  });

  it('refuses an origin that it does not watch, and a note that no key of the log has signed', async () => {
    log.grow(2);
    const stranger = writtenLog('stranger.test/log');
    expect(await kind(stranger.request(0))).to.equal('unknown_log');
    // A log with the same name and another key.
    expect(await kind(writtenLog(log.origin).request(0))).to.equal('untrusted_signature');
    const [text = '', signatures = ''] = log.note().split('\n\n');
    expect(await kind(`old 0\n\n${text.replace('\n2\n', '\n3\n')}\n\n${signatures}`)).to.equal('untrusted_signature');
    // The log's key may not speak for another origin that is watched as well.
    const other = writtenLog(`${log.origin}/other`);
    witness.watch(other.vkey);
    expect(await kind(`old 0\n\n${log.note().replace(log.origin, other.origin)}`)).to.equal('untrusted_signature');
    expect(await newest()).to.equal(undefined);
  });

  it('accepts either key of a log whose key changes, and ignores 98 unknown signatures', async () => {
    log.grow(3);
    const successor = writtenLog(log.origin);
    witness.watch(successor.vkey);
    successor.grow(1);
    const unknown = `— x.test/y ${Buffer.alloc(68, 7).toString('base64')}\n`.repeat(98);
    expect(await kind(log.request(0) + unknown)).to.equal('cosigned');
    expect((await witness.file.logs.newest(log.origin))?.note).not.to.include('x.test/y');
    expect(await kind(successor.request(3))).to.equal('old_size_above_new');
    expect(await kind(successor.request(0))).to.equal('other_old_size');
  });

  for (const [what, body] of [
    ['no note', () => 'old 0\n\n'],
    ['a note that is not a checkpoint', () => `old 0\n\nhello\n\n${log.note().split('\n\n')[1]}`],
    ['a note without a signature', () => `old 0\n\n${log.text()}\n`],
    ['a space in the name of a signature', () => log.request(0).replace('— log', '— a log')],
    ['101 signatures', () => log.request(0) + `— x.test/y ${Buffer.alloc(68).toString('base64')}\n`.repeat(100)],
  ] as const) {
    it(`refuses as malformed: ${what}`, async () => expect(await kind(body())).to.equal('malformed'));
  }

  it('cosigns one of many concurrent checkpoints, and tells the others its size', async () => {
    await grown(3);
    const forks = Array.from({ length: 20 }, () => {
      const fork = log.fork(3);
      fork.grow(2);
      return fork;
    });
    const outcomes = await Promise.all(forks.map((fork) => witness.cosign(fork.request(3))));
    expect(outcomes.filter((outcome) => outcome.kind === 'cosigned')).to.have.length(1);
    expect(outcomes.filter((outcome) => outcome.kind === 'other_old_size' && outcome.size === 5)).to.have.length(19);
  });

  it('never gives an earlier time than before, even if its clock is set back', async () => {
    const cosign = async () => {
      const outcome = await witness.cosign(log.request(log.size));
      return outcome.kind === 'cosigned' ? cosignedAt(outcome.line, witness.vkey, log.text()) : undefined;
    };
    await grown(2);
    const first = await cosign();
    witness.clock.advance(-290);
    expect(await cosign()).to.equal(first);
    witness.clock.advance(3890);
    expect(await cosign()).to.be.greaterThan(Number(first) + 3000);
    witness.clock.advance(-3600);
  });

  it('cosigns nothing for a minute after its clock was set, and dates nothing by the wrong time', async () => {
    await alone();
    await grown(2);
    const said = witness.log.lines.length;
    const readiness = async () => (await witness.watching.readiness.check()).status;
    for (const jump of [5 * 365 * 86_400, -5 * 365 * 86_400, 6]) {
      expect(await readiness()).to.equal('Healthy');
      await witness.watching.watch();
      witness.clock.jump(jump);
      expect(await kind(log.request(2))).to.equal('wrong_clock');
      expect(await readiness()).to.equal('Unhealthy');
      await witness.watching.watch();
      witness.clock.advance(59);
      await witness.watching.watch();
      expect(await kind(log.request(2))).to.equal('wrong_clock');
      // The five years were not stored: the clock is right again.
      if (Math.abs(jump) > 6) witness.clock.jump(-jump);
      expect(await readiness()).to.equal('Unhealthy');
      witness.clock.advance(61);
      await witness.watching.watch();
      expect(await kind(log.request(2)), String(jump)).to.equal('cosigned');
    }
    const lines = witness.log.lines.slice(said).map((line) => JSON.parse(line).message);
    expect(lines).to.deep.equal(
      [1, 2, 3].flatMap(() => [
        'nothing is cosigned: the clock is wrong',
        'the clock is right again: checkpoints are cosigned',
      ]),
    );
    // A note that the log signed is judged as before.
    witness.clock.jump(10);
    const fork = log.fork(1);
    fork.grow(1);
    expect(await kind(fork.request(2))).to.equal('other_root');
  });

  it('cosigns nothing while its last time is minutes ahead, until an operator accepts the clock', async () => {
    await alone();
    await grown(5);
    const { clock } = witness;
    // The clock was wrong from the start of the process.
    clock.jump(86_400);
    await witness.restart();
    expect(await kind(log.request(5))).to.equal('cosigned');
    const ahead = await witness.file.logs.newest(log.origin);
    clock.jump(-86_400);
    await witness.restart();
    expect(await kind(log.request(5))).to.equal('wrong_clock');
    const { status, detail } = await witness.watching.readiness.check();
    expect(status).to.equal('Unhealthy');
    expect(detail).to.include(`The last cosignature for ${log.origin} is dated`);

    const now = clock.seconds();
    expect(await witness.file.acceptTime(now)).to.deep.equal([{ origin: log.origin, seconds: ahead?.seconds }]);
    const { size, root, note } = ahead ?? {};
    expect(await witness.file.logs.newest(log.origin)).to.deep.include({ size, root, note, seconds: now });
    expect(await witness.file.acceptTime(now)).to.deep.equal([]);
    expect(await kind(log.request(5))).to.equal('cosigned');
    // It has forgotten nothing, and its file still refuses to go back.
    const fork = log.fork(4);
    fork.grow(1);
    expect(await kind(fork.request(5))).to.equal('other_root');
    const known = await witness.file.logs.newest(log.origin);
    if (known === undefined) throw new Error('nothing was stored');
    const earlier = { ...known, seconds: known.seconds - 1 };
    const refused = await witness.file.logs.replace(known, earlier).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error);
  });

  it('does not go back, even if its own code asked its file to', async () => {
    await grown(5);
    const known = await witness.file.logs.newest(log.origin);
    if (known === undefined) throw new Error('nothing was stored');
    for (const change of [{ size: 4 }, { root: Buffer.alloc(32).toString('base64') }, { seconds: known.seconds - 1 }]) {
      let error: unknown;
      await witness.file.logs.replace(known, { ...known, ...change }).catch((thrown: unknown) => {
        error = thrown;
      });
      expect(String(error)).to.include('a log only grows');
    }
    expect(await witness.file.logs.newest(log.origin)).to.deep.equal(known);
  });

  it(`in ${HISTORIES} random histories cosigns every honest checkpoint, and no two that contradict each other`, async function () {
    this.timeout(byLength({ short: 120_000, full: 900_000 }));
    const step = fc.oneof(
      fc.record({ kind: fc.constant('grow' as const), by: fc.integer({ min: 0, max: 40 }) }),
      fc.record({ kind: fc.constant('stale' as const), back: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant('fork' as const), back: fc.nat(20), by: fc.nat(20), lie: fc.boolean() }),
      fc.record({ kind: fc.constant('race' as const), by: fc.integer({ min: 1, max: 5 }) }),
      fc.constant({ kind: 'restart' as const }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        let honest = writtenLog(`log.test/${logs++}`);
        witness.watch(honest.vkey);
        /** The size that the witness has cosigned. All before it are leaves of `honest`. */
        let cosigned = 0;
        for (const each of steps) {
          if (each.kind === 'restart') await witness.restart();
          if (each.kind === 'grow') {
            honest.grow(each.by);
            expect(await kind(honest.request(cosigned))).to.equal('cosigned');
            cosigned = honest.size;
          }
          if (each.kind === 'stale') {
            const size = Math.max(0, cosigned - each.back);
            const outcome = await witness.cosign(honest.request(Math.max(0, size - 1), size));
            if (size < cosigned) expect(outcome).to.deep.equal({ kind: 'other_old_size', size: cosigned });
          }
          if (each.kind === 'fork') {
            // Without a lie the fork begins before the cosigned size, and says so.
            const fork = honest.fork(Math.max(0, cosigned - each.back));
            fork.grow(each.by);
            const oldSize = each.lie ? cosigned : Math.min(cosigned, fork.size);
            const contradicts = fork.size < cosigned || (each.back > 0 && cosigned > 0);
            const outcome = await kind(fork.request(Math.min(oldSize, fork.size)));
            if (contradicts) expect(outcome).not.to.equal('cosigned');
            else if (outcome === 'cosigned') [honest, cosigned] = [fork, fork.size];
          }
          if (each.kind === 'race') {
            const rivals = [honest.fork(cosigned), honest.fork(cosigned)];
            for (const rival of rivals) rival.grow(each.by);
            const kinds = await Promise.all(rivals.map((rival) => kind(rival.request(cosigned))));
            expect(kinds.filter((one) => one === 'cosigned')).to.have.length(1);
            honest = rivals[kinds.indexOf('cosigned')] ?? honest;
            cosigned = honest.size;
          }
        }
        const stored = await witness.file.logs.newest(honest.origin);
        expect(stored?.size ?? 0).to.equal(cosigned);
        if (stored) expect(stored.root).to.equal(Buffer.from(honest.root(cosigned)).toString('base64'));
      }),
      { numRuns: HISTORIES },
    );
  });
});
