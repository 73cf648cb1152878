import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import { checkpointVerifier } from '../../../adapters/jose/checkpoint-signatures.ts';
import type { TrustedChain } from '../../../application/ledger/trusted-chain.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { presentRecord } from '../../../domain/ledger/record.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { faultsOfLedger, isSigned, type PublishedKeys } from '../../support/independent-ledger/verify-published.ts';
import { chainOf } from '../../support/ledger/chain.ts';
import { type LedgerFixture, ledgerFixture } from '../../support/ledger-fixture.ts';
import { byLength } from '../../support/length.ts';

const EVERYTHING = { firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER };
/** A large range: the records of many pages. */
const MANY = byLength({ short: 20_000, full: 60_000 });

describe('sealing', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  async function published() {
    const { checkpoints } = fixture.storage;
    const all = await checkpoints.page(0, 1000);
    const records = (await checkpoints.records(EVERYTHING, 0, 10_000)).map((record) => ({
      ...presentRecord(record),
      checkpoint:
        all.find(({ firstSeq, lastSeq }) => record.seq >= firstSeq && record.seq <= lastSeq)?.checkpointId ?? null,
    }));
    return { records, checkpoints: all.map(presentCheckpoint), jwks: fixture.keys.published() as PublishedKeys };
  }

  it('makes checkpoints that an independent verifier accepts, even with gaps of rolled-back appends', async () => {
    await fixture.sealed(1);
    fixture.skipNumbers(3);
    await fixture.sealed(7);
    await fixture.append(2);
    fixture.skipNumbers(1);
    await fixture.sealed(600);
    await fixture.append(4);
    const { records, checkpoints, jwks } = await published();
    expect(faultsOfLedger(records, checkpoints, jwks)).to.deep.equal([]);
    expect(checkpoints.map(({ first_seq, last_seq, tree_size }) => [first_seq, last_seq, tree_size])).to.deep.equal([
      [1, 1, 1],
      [2, 11, 7],
      [12, 614, 602],
    ]);
    expect(records.filter(({ checkpoint }) => checkpoint === null)).to.have.length(4);
  });

  it('dates each checkpoint by the clock and signs it with the active key', async () => {
    fixture.clock.advance(75);
    const checkpoint = await fixture.sealed(3);
    expect(checkpoint.closedAt).to.equal(fixture.clock.now());
    expect(checkpoint.kid).to.equal(fixture.keys.checkpoints.kid);
    expect(isSigned(presentCheckpoint(checkpoint), fixture.keys.published() as PublishedKeys)).to.equal(true);
    expect(await fixture.storage.checkpoints.page(0, 10)).to.deep.equal([checkpoint]);
  });

  it('makes no checkpoint without records', async () => {
    expect(await fixture.seal()).to.deep.equal({ kind: 'nothing_unsealed' });
    await fixture.sealed(2);
    fixture.skipNumbers(5);
    expect(await fixture.seal()).to.deep.equal({ kind: 'nothing_unsealed' });
    expect(await fixture.storage.checkpoints.page(0, 10)).to.have.length(1);
  });

  it('stops if another instance has sealed first, and continues after that checkpoint', async () => {
    await fixture.append(5);
    const { checkpoints } = fixture.storage;
    const outcome = await fixture.seal({
      checkpoints: {
        ...checkpoints,
        async add(checkpoint) {
          await fixture.sealed(2);
          return checkpoints.add(checkpoint);
        },
      },
    });
    expect(outcome).to.deep.equal({ kind: 'overtaken' });
    await fixture.sealed(1);
    expect(await fixture.verify()).to.deep.include({
      kind: 'intact',
      counts: { checkpoints: 2, records: 8, archived: 0, unsealed: 0 },
    });
  });

  for (const step of ['unsealed', 'records', 'add'] as const) {
    for (const kept of [false, true]) {
      it(`that fails ${kept ? 'after' : 'before'} its step "${step}" leaves an intact chain for the next run`, async () => {
        await fixture.sealed(3);
        await fixture.append(5);
        const { checkpoints } = fixture.storage;
        const dying: typeof checkpoints = {
          ...checkpoints,
          // The step fails before the call or after it.
          async [step](...given: never[]): Promise<never> {
            if (kept) await (checkpoints[step] as (...given: never[]) => Promise<unknown>)(...given);
            throw new StorageUnavailable('The database fell silent');
          },
        };
        const died = await fixture.seal({ checkpoints: dying }).catch((error: unknown) => error);
        expect(died).to.be.instanceOf(StorageUnavailable);
        await fixture.append(2);
        await fixture.seal();
        const { records, checkpoints: chain, jwks } = await published();
        expect(faultsOfLedger(records, chain, jwks)).to.deep.equal([]);
        expect(records.filter(({ checkpoint }) => checkpoint === null)).to.deep.equal([]);
        expect(chain.map(({ tree_size }) => tree_size)).to.deep.equal(step === 'add' && kept ? [3, 5, 2] : [3, 7]);
      });
    }
  }

  it('seals each record once, even if several instances seal concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      await fixture.append(40);
      const outcomes = await Promise.all([fixture.seal(), fixture.seal(), fixture.seal(), fixture.seal()]);
      expect(outcomes.filter(({ kind }) => kind === 'sealed')).to.have.length(1);
    }
    expect((await fixture.verify()).counts).to.deep.equal({ checkpoints: 5, records: 200, archived: 0, unsealed: 0 });
  });

  describe('with the memory of its process', () => {
    let log: CapturedLog;
    let chain: TrustedChain;
    beforeEach(() => {
      log = capturedLog();
      chain = chainOf(fixture.storage.checkpoints, checkpointVerifier(fixture.keys.published()), log);
    });
    const logged = () => log.lines.map((line) => JSON.parse(line)).map(({ level, problem }) => [level, problem]);

    it('verifies nothing again after its own checkpoints, and each of another instance once', async () => {
      let verified = 0;
      const verifier = checkpointVerifier(fixture.keys.published());
      const counting = chainOf(fixture.storage.checkpoints, {
        async verify(...given) {
          verified += 1;
          return verifier.verify(...given);
        },
      });
      await fixture.append(3);
      for (let pass = 0; pass < 3; pass += 1) await fixture.seal({ chain: counting });
      expect(verified).to.equal(0);
      await fixture.sealed(2);
      for (let pass = 0; pass < 3; pass += 1) await fixture.seal({ chain: counting });
      expect(verified).to.equal(1);
    });

    it('follows more checkpoints of other instances than a page has, and finds one that does not link', async function () {
      this.timeout(60_000);
      await fixture.append(1);
      await fixture.seal({ chain });
      for (let nth = 0; nth < 505; nth += 1) await fixture.sealed(1);
      expect((await chain.examine()).kind).to.equal('trusted');
      const again = chainOf(fixture.storage.checkpoints);
      const first = (await fixture.storage.checkpoints.page(0, 1))[0];
      if (first !== undefined) again.sealed(first);
      fixture.withoutTriggers.exec("update checkpoints set root_hash = 'x' where checkpoint_id = 503");
      const examined = await again.examine();
      expect(examined).to.deep.include({ kind: 'untrusted' });
      expect(examined.kind === 'untrusted' && examined.faults.map(({ kind }) => kind)).to.deep.equal(['chain_broken']);
    });

    it('refuses checkpoints that cannot be read, and throws if the database does not answer', async () => {
      await fixture.sealed(1);
      const { checkpoints } = fixture.storage;
      const failing = (cause: Error) =>
        chainOf({
          ...checkpoints,
          async newest() {
            throw cause;
          },
        });
      expect(await fixture.seal({ chain: failing(new RangeError('Invalid time value')) })).to.deep.equal({
        kind: 'untrusted',
        faults: [{ kind: 'unreadable' }],
      });
      const silent = await failing(new StorageUnavailable('silent'))
        .examine()
        .catch((error: unknown) => error);
      expect(silent).to.be.instanceOf(StorageUnavailable);
    });

    it('logs each state once, with the id of a key made safe, and when sealing goes on', async () => {
      const kid = `old\u202e\n${'k'.repeat(200)}`;
      await fixture.append(2);
      await fixture.seal({ signer: { ...fixture.keys.checkpoints, kid } });
      await fixture.append(1);
      for (let pass = 0; pass < 3; pass += 1) {
        expect((await fixture.seal({ chain })).kind).to.equal('untrusted');
        // Another replica goes on with that key.
        await fixture.append(1);
        await fixture.seal({ signer: { ...fixture.keys.checkpoints, kid } });
      }
      fixture.withoutTriggers.exec('delete from checkpoints');
      for (let pass = 0; pass < 2; pass += 1) await fixture.seal({ chain });
      const [[level, problem] = [], ...rest] = logged();
      expect(level).to.equal('error');
      expect(problem).to.match(
        /^The newest checkpoint, 1, is signed with the key old\\u\{202e\}\\u\{a\}k{75}…, which is not conf/,
      );
      expect(rest).to.deep.equal([['info', undefined]]);
    });

    it('does not mistake a read that a concurrent pass overtook for a missing checkpoint', async () => {
      await fixture.sealed(1);
      const { checkpoints } = fixture.storage;
      let late: (() => void) | undefined;
      const waits = new Promise<void>((resolve) => {
        late = resolve;
      });
      const slow = { ...checkpoints, newest: async () => checkpoints.newest().then((read) => waits.then(() => read)) };
      const shared = chainOf(slow);
      const reading = shared.examine();
      await fixture.append(1);
      const next = await fixture.sealed(1);
      shared.sealed(next);
      late?.();
      expect((await reading).kind).to.equal('trusted');
      expect(shared.state().known).to.deep.equal(next);
    });
  });

  it('does not sign a range whose last record was deleted', async () => {
    await fixture.append(5);
    const { checkpoints } = fixture.storage;
    for (const deleted of ['seq = 5', 'seq > 0']) {
      const unsealed = await checkpoints.unsealed();
      fixture.withoutTriggers.exec(`delete from ledger where ${deleted}`);
      let signed = 0;
      const sealing = fixture.seal({
        checkpoints: { ...checkpoints, unsealed: async () => unsealed },
        signer: {
          kid: fixture.keys.checkpoints.kid,
          async sign(text) {
            signed += 1;
            return fixture.keys.checkpoints.sign(text);
          },
        },
      });
      expect(await sealing.catch((error: Error) => error)).to.be.an('error');
      expect(signed).to.equal(0);
      fixture.withoutTriggers.exec('delete from ledger');
      await fixture.append(5);
    }
    expect(await checkpoints.page(0, 10)).to.deep.equal([]);
  });

  it('goes on if the look for two records with one number fails, which is logged once, and keeps what it found before', async () => {
    const { checkpoints } = fixture.storage;
    const log = capturedLog();
    const found = { seq: 1, isSealed: true };
    const looks = [found, undefined, undefined, found, undefined];
    const chain = chainOf(
      {
        ...checkpoints,
        async usedTwice() {
          const look = looks.shift();
          if (look === undefined) throw new StorageUnavailable('The statement took too long');
          return look;
        },
      },
      checkpointVerifier(fixture.keys.published()),
      log,
    );
    for (let pass = 1; pass <= 5; pass += 1) {
      await fixture.append(2);
      expect((await fixture.seal({ chain })).kind).to.equal('sealed');
      expect(chain.state().twice).to.equal(found);
    }
    expect(log.lines.map((line) => JSON.parse(line).message)).to.deep.equal([
      'two records have one number',
      'whether two records have one number could not be examined',
      'whether two records have one number could not be examined',
    ]);
  });

  it('seals no unsealed number that two records have, also if the look fails or comes before the second', async () => {
    const { checkpoints } = fixture.storage;
    const looks = [async () => undefined, () => Promise.reject(new StorageUnavailable('The statement took too long'))];
    await fixture.sealed(1);
    await fixture.append(2);
    for (const usedTwice of looks) {
      const chain = chainOf({ ...checkpoints, usedTwice });
      const records: typeof checkpoints.records = async (...asked) => {
        const page = await checkpoints.records(...asked);
        return [...page.slice(0, 1), ...page];
      };
      const twice = { seq: 2, isSealed: false };
      expect(await fixture.seal({ chain, checkpoints: { ...checkpoints, records } })).to.deep.equal({
        kind: 'used_twice',
        seq: 2,
      });
      expect(chain.state().twice).to.deep.equal(twice);
      expect(await checkpoints.page(1, 10)).to.deep.equal([]);
    }
    // The second one is out again, and the look still fails.
    const chain = chainOf({ ...checkpoints, usedTwice: looks[1] as typeof checkpoints.usedTwice });
    chain.foundTwice({ seq: 2, isSealed: false });
    expect((await fixture.seal({ chain })).kind).to.equal('sealed');
    expect(chain.state().twice).to.equal(undefined);
  });

  it('of a large range does not block the event loop, and does not keep all records in memory', async function () {
    this.timeout(120_000);
    await fixture.append(MANY);
    let [read, largest, inTurn, longest] = [0, 0, 0, 0];
    const { checkpoints } = fixture.storage;
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    const began = performance.now();
    const outcome = await fixture.seal({
      checkpoints: {
        ...checkpoints,
        async records(range, after, limit) {
          const page = await checkpoints.records(range, after, limit);
          read += page.length;
          largest = Math.max(largest, page.length);
          inTurn += page.length;
          longest = Math.max(longest, inTurn);
          return page;
        },
      },
      turn: () =>
        new Promise((resolve) => {
          inTurn = 0;
          setImmediate(resolve);
        }),
    });
    delays.disable();
    const tookMs = performance.now() - began;
    expect(outcome.kind).to.equal('sealed');
    expect([read, largest]).to.deep.equal([MANY, 500]);
    // At most two pages are in memory: the one that is hashed, and the one that is read.
    expect(longest).to.be.at.most(1000);
    // The longest measured delay is a few milliseconds. On a busy machine the whole pass is slower, so the limit grows
    // with its duration. A pass that never yields would cause one delay of its whole duration.
    expect(delays.percentile(50) / 1e6).to.be.below(Math.max(50, tookMs / 20));
  });
});
