/** The transparency log on both databases. */

import { expect } from 'chai';
import { activateKeys } from '../../application/decisions/activate-keys.ts';
import type { LogGrowth, StoredCosignature, WitnessProblem } from '../../application/ports/transparency-log.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { sealed } from './minimal-sealer.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, ledgerOf } from './storage-fixtures.ts';

const EMPTY = 'e'.repeat(64);
const ORIGIN = 'mandate.example/ledger é';
/** The other members of a state without a note. */
const UNSIGNED = { note: undefined, published: undefined, isWithheld: false, halted: undefined };

onEveryDatabase('the transparency log', ({ storage, kind, outside }) => {
  const log = () => storage().transparencyLog;
  const stateOf = async () => (await log().state()) ?? expect.fail('no state');

  /** A growth of the stored tree by one leaf. */
  async function growth(changes: Partial<LogGrowth> = {}): Promise<LogGrowth> {
    const { origin, size, root } = await stateOf();
    const to = { size: size + 1, root: String(size + 1).padStart(64, '0'), note: `note ${size + 1}\n\n— é\n` };
    return { origin, from: { size, root }, to, tiles: [], publish: true, ...changes };
  }

  it('has no state before its first start', async () => expect(await log().state()).to.equal(undefined));

  it('begins once, and keeps its name then', async () => {
    const begun = await log().begin(ORIGIN, EMPTY);
    expect(begun).to.deep.equal({ origin: ORIGIN, size: 0, root: EMPTY, ...UNSIGNED });
    expect(await log().begin('another.example', 'f'.repeat(64))).to.deep.equal(begun);
    expect(await log().state()).to.deep.equal(begun);
  });

  it('stores a tree with its note and its tiles, of which later ones replace partial ones', async () => {
    const tile = (index: number, length: number) => ({
      level: 1,
      index,
      hashes: new Uint8Array(length).fill(length % 251),
    });
    const first = await growth({ tiles: [tile(0, 8192), tile(1, 32)] });
    expect(await log().grow(first)).to.equal('grown');
    expect(await stateOf()).to.deep.include({ ...first.to, published: { size: 1, note: first.to.note } });
    const second = await growth({ tiles: [tile(1, 64)] });
    expect(await log().grow(second)).to.equal('grown');
    const places = [
      { level: 1, index: 1 },
      { level: 0, index: 0 },
      { level: 1, index: 0 },
    ];
    expect(await log().tiles(places)).to.deep.equal([tile(1, 64), undefined, tile(0, 8192)]);
  });

  it('grows only from the stored size and root, under the stored name', async () => {
    const before = await stateOf();
    const tiles = [{ level: 0, index: 9, hashes: new Uint8Array(32) }];
    for (const changes of [
      { from: { size: before.size - 1, root: before.root } },
      { from: { size: before.size, root: EMPTY } },
      { origin: 'another.example' },
    ]) {
      expect(await log().grow(await growth({ ...changes, tiles }))).to.equal('overtaken');
    }
    expect(await stateOf()).to.deep.equal(before);
    expect(await log().tiles([{ level: 0, index: 9 }])).to.deep.equal([undefined]);
  });

  it('lets one of twenty concurrent growths win', async () => {
    const next = await growth();
    const rivals = Array.from({ length: 20 }, (_, nth) => ({ ...next, to: { ...next.to, note: `rival ${nth}` } }));
    const outcomes = await Promise.all(rivals.map((rival) => log().grow(rival)));
    expect(outcomes.filter((outcome) => outcome === 'grown')).to.have.length(1);
    expect((await stateOf()).note).to.equal(`rival ${outcomes.indexOf('grown')}`);
  });

  it('publishes no note without a quorum, and never one of a smaller tree', async () => {
    const before = await stateOf();
    expect(await log().grow(await growth({ publish: false }))).to.equal('grown');
    expect((await stateOf()).published).to.deep.equal(before.published);
    const { size } = await stateOf();
    await log().publish(ORIGIN, { size, note: 'cosigned' });
    expect((await stateOf()).published).to.deep.equal({ size, note: 'cosigned' });
    await log().publish(ORIGIN, { size: size - 1, note: 'older' });
    await log().publish('another.example', { size, note: 'foreign' });
    expect((await stateOf()).published).to.deep.equal({ size, note: 'cosigned' });
    await log().publish(ORIGIN, { size, note: 'cosigned twice' });
    expect((await stateOf()).published).to.deep.equal({ size, note: 'cosigned twice' });
  });

  it('shows the note before again once a tree is contradicted, and publishes neither that tree nor a smaller one', async () => {
    const { size: first } = await stateOf();
    const notes: string[] = [(await stateOf()).published?.note ?? ''];
    for (let nth = 0; nth < 3; nth += 1) {
      const next = await growth();
      notes.push(next.to.note);
      expect(await log().grow(next)).to.equal('grown');
    }
    const shown = async () => (await stateOf()).published;
    // A second note of the same size, such as one with more cosignatures, has the same note before it.
    await log().publish(ORIGIN, { size: first + 3, note: 'cosigned' });
    await log().withdraw('another.example', first + 3);
    expect(await shown()).to.deep.equal({ size: first + 3, note: 'cosigned' });
    const { size, root, note } = await stateOf();
    await Promise.all(Array.from({ length: 5 }, () => log().withdraw(ORIGIN, first + 3)));
    const before = { size: first + 2, note: notes[2] };
    expect(await shown()).to.deep.equal(before);
    expect(await stateOf()).to.deep.include({ size, root, note, isWithheld: true, halted: undefined });
    for (const again of [first + 3, first + 2]) await log().publish(ORIGIN, { size: again, note: 'again' });
    expect(await shown()).to.deep.equal(before);
    // A tree that was never published.
    expect(await log().grow(await growth({ publish: false }))).to.equal('grown');
    expect((await stateOf()).isWithheld).to.equal(false);
    await log().withdraw(ORIGIN, first + 4);
    await log().withdraw(ORIGIN, first + 1);
    await log().publish(ORIGIN, { size: first + 4, note: 'again' });
    expect(await shown()).to.deep.equal(before);
    await log().publish(ORIGIN, { size: first + 5, note: 'later' });
    expect(await shown()).to.deep.equal({ size: first + 5, note: 'later' });
    await log().withdraw(ORIGIN, first + 5);
    expect(await shown()).to.deep.equal(before);
    // A contradiction may come late, for the note before.
    await log().publish(ORIGIN, { size: first + 6, note: 'latest' });
    await log().withdraw(ORIGIN, first + 2);
    expect(await shown()).to.deep.equal({ size: first + 6, note: 'latest' });
    await log().withdraw(ORIGIN, first + 6);
    expect(await shown()).to.equal(undefined);
    await log().adoptOrigin(ORIGIN);
    await log().publish(ORIGIN, { size: first, note: 'adopted' });
    expect(await shown()).to.deep.equal({ size: first, note: 'adopted' });
  });

  it('keeps the newest cosignature of each witness, by size', async () => {
    const of = (witness: string, size: number, line: string): StoredCosignature => ({
      witness,
      size,
      line,
      at: instantFromMicros(NOON + 123_457),
    });
    for (const each of [of('w2', 7, 'a'), of('w1', 5, 'b'), of('w1', 6, 'c'), of('w1', 5, 'd'), of('w1', 6, 'e')]) {
      await log().keepCosignature(each);
    }
    expect(await log().cosignatures()).to.deep.equal([of('w1', 6, 'e'), of('w2', 7, 'a')]);
  });

  it('keeps the present problem of each witness', async () => {
    const of = (witness: string, changes: Partial<WitnessProblem>): WitnessProblem => ({
      witness,
      kind: 'unavailable',
      detail: undefined,
      since: instantFromMicros(NOON + 123_457),
      ...changes,
    });
    const two = of('w2 é', { kind: 'ahead', detail: '9 leaves, and the database has 1.' });
    for (const each of [
      of('w1', {}),
      of('w1', { kind: 'wrong_clock' }),
      two,
      of('w1', { kind: 'contradicted', since: plusSeconds(NOON, 1) }),
    ]) {
      await log().keepProblem(each.witness, each);
    }
    const later = of('w1', { kind: 'contradicted', since: plusSeconds(NOON, 1) });
    expect(await log().problems()).to.deep.equal([later, two]);
    await log().keepProblem('w1', undefined);
    await log().keepProblem('w1', undefined);
    expect(await log().problems()).to.deep.equal([two]);
  });

  it('does not grow while it is halted, and keeps the first reason', async () => {
    await log().halt('The first reason.');
    await log().halt('The second reason.');
    const halted = await stateOf();
    expect(halted.halted).to.equal('The first reason.');
    expect(await log().grow(await growth())).to.equal('overtaken');
    await log().publish(ORIGIN, { size: halted.size, note: 'halted' });
    expect(await stateOf()).to.deep.equal(halted);
    await log().resume();
    expect(await log().grow(await growth())).to.equal('grown');
  });

  it('takes another name with its tree, unsigned, without cosignatures, problems and a halt', async () => {
    const { size, root } = await stateOf();
    await log().halt('A reason.');
    await log().adoptOrigin('another.example');
    expect(await stateOf()).to.deep.equal({ origin: 'another.example', size, root, ...UNSIGNED });
    expect([await log().cosignatures(), await log().problems()]).to.deep.equal([[], []]);
  });

  it('lists the keys that signed checkpoints, with the first and the last', async () => {
    expect(await log().signers(0)).to.deep.equal([]);
    for (let nth = 0; nth < 3; nth += 1) {
      await storage().ledger.append(anEntry('admin.denied'));
      await sealed(storage().checkpoints);
    }
    const checkpoints = await storage().checkpoints.page(0, 10);
    const signers = await log().signers(0);
    expect(signers.map(({ kid }) => kid)).to.have.members([...new Set(checkpoints.map(({ kid }) => kid))]);
    const times = checkpoints.map(({ closedAt }) => closedAt);
    expect(Math.min(...signers.map(({ first }) => first))).to.equal(Math.min(...times));
    expect(Math.max(...signers.map(({ last }) => last))).to.equal(Math.max(...times));
    expect(Math.max(...signers.map(({ lastId }) => lastId))).to.equal(checkpoints.at(-1)?.checkpointId);
    const [{ first } = { first: 0 }] = await log().signers(2);
    expect(first).to.equal(checkpoints[2]?.closedAt);
    expect(await log().signers(3)).to.deep.equal([]);
  });

  describe('records its keys', () => {
    const at = (seconds: number) => instantFromMicros(plusSeconds(NOON, seconds) + 7);
    const [T0, T1, T2, T3] = [at(0), at(10), at(20), at(30)] as const;
    const keyOf = (name: string, use: LogKey['use'] = 'checkpoint'): Omit<LogKey, 'from' | 'to'> => ({
      use,
      kid: `kid-${name}`,
      thumbprint: `thumbprint-${name}`,
      publicKey: `{"key":"${name} é"}`,
    });
    const activate = async (
      at: Instant,
      active: readonly ReturnType<typeof keyOf>[],
      earlier: readonly LogKey[] = [],
    ) => {
      const before = (await ledgerOf(storage())).length;
      await storage().decide(activateKeys, { active, earlier, at });
      const records = (await ledgerOf(storage())).slice(before);
      return records.map(({ event, reason, decision, detail }) => [event, reason, decision, detail].join(' '));
    };

    it('at the first start, with those that signed before', async () => {
      const earlier = [
        { ...keyOf('old'), from: T0, to: T1 },
        { ...keyOf('a'), from: T1, to: T1 },
      ];
      expect(await activate(T2, [keyOf('a'), keyOf('l', 'log')], earlier)).to.deep.equal([
        'key.retired checkpoint_key allow thumbprint-old',
        'key.activated checkpoint_key allow thumbprint-a',
        'key.activated log_key allow thumbprint-l',
      ]);
      expect(await log().keys()).to.deep.equal([
        { ...keyOf('old'), from: T0, to: T1 },
        { ...keyOf('a'), from: T1, to: undefined },
        { ...keyOf('l', 'log'), from: T2, to: undefined },
      ]);
    });

    it('writes nothing at a start with the same keys, and no second time about earlier ones', async () => {
      const earlier = [
        { ...keyOf('old'), from: T0, to: T3 },
        { ...keyOf('a'), from: T0, to: T3 },
      ];
      const before = await log().keys();
      expect(await activate(T3, [keyOf('a'), keyOf('l', 'log')], earlier)).to.deep.equal([]);
      expect(await log().keys()).to.deep.equal(before);
    });

    it('at a later start, with a key that signed while the log was off', async () => {
      const earlier = [{ ...keyOf('meanwhile'), from: T1, to: T2 }];
      expect(await activate(T3, [keyOf('a'), keyOf('l', 'log')], earlier)).to.deep.equal([
        'key.retired checkpoint_key allow thumbprint-meanwhile',
      ]);
      expect(await log().keys()).to.deep.include({ ...keyOf('meanwhile'), from: T1, to: T2 });
    });

    it('at a change, also of a key that has the same kid, and at the return of a key', async () => {
      const renewed = { ...keyOf('b'), kid: 'kid-a' };
      expect(await activate(T3, [renewed, keyOf('l', 'log')])).to.deep.equal([
        'key.retired checkpoint_key allow thumbprint-a',
        'key.activated checkpoint_key allow thumbprint-b',
      ]);
      expect((await activate(T3, [keyOf('a'), keyOf('m', 'log')])).length).to.equal(4);
      const keys = await log().keys();
      const active = keys.filter(({ to }) => to === undefined).map(({ thumbprint }) => thumbprint);
      expect(active).to.have.members(['thumbprint-a', 'thumbprint-m']);
      expect(keys.find(({ thumbprint }) => thumbprint === 'thumbprint-a')?.from).to.equal(T1);
      expect(keys).to.have.length(6);
    });

    it('once, at ten concurrent starts with one new key', async () => {
      const starts = Array.from({ length: 10 }, () =>
        storage().decide(activateKeys, { active: [keyOf('z')], earlier: [], at: T3 }),
      );
      const before = (await ledgerOf(storage())).length;
      await Promise.all(starts);
      const records = (await ledgerOf(storage())).filter(({ detail }) => detail === 'thumbprint-z');
      expect(records, String(before)).to.have.length(1);
    });
  });

  if (kind.engine !== 'postgres') return;
  it('lets the serving role change its tables, but not the checkpoints', async () => {
    const serving = await outside('serving');
    await serving.sql("update log_state set halted = 'x'");
    await serving.sql('update log_state set halted = null');
    const refused = await serving.sql('update checkpoints set signature = 1').catch((error: unknown) => String(error));
    expect(refused).to.include('permission denied');
  });
});
