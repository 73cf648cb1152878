import { expect } from 'chai';
import { plusSeconds } from '../../domain/instant.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { appendsEntries } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { checkpointOver, faultsOf, seal, sealed, seqsOf } from './minimal-sealer.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, ledgerOf } from './storage-fixtures.ts';

onEveryDatabase('sealing the ledger', ({ storage, outside, kind }) => {
  const checkpoints = () => storage().checkpoints;
  const append = async (count: number) => {
    for (let nth = 0; nth < count; nth++) await storage().ledger.append(anEntry('admin.denied'));
  };
  /** Reads the range to seal, and makes the checkpoint that seals it. */
  const successor = async () => {
    const unsealed = await checkpoints().unsealed();
    if (unsealed === undefined) throw new Error('nothing to seal');
    return { unsealed, next: checkpointOver(unsealed, await seqsOf(checkpoints(), unsealed)) };
  };
  const lastSeq = async () => Math.max(0, ...(await ledgerOf(storage())).map((record) => record.seq));
  const newest = async () => (await checkpoints().page(0, 1_000)).at(-1);

  it('finds nothing to seal in an empty ledger', async () => {
    expect(await checkpoints().unsealed()).to.equal(undefined);
    expect(await checkpoints().page(0, 10)).to.deep.equal([]);
    expect(await checkpoints().newest()).to.equal(undefined);
    expect(await checkpoints().archivings()).to.deep.equal([]);
    expect(await checkpoints().sealing(1)).to.deep.equal({ kind: 'not_sealed' });
  });

  it('starts at 1, then after the last sealed record, and ends at the newest record', async () => {
    await append(3);
    expect(await checkpoints().unsealed()).to.deep.equal({ firstSeq: 1, lastSeq: 3, previous: undefined });
    const first = await sealed(checkpoints());
    expect(await checkpoints().unsealed()).to.equal(undefined);
    await append(2);
    expect(await checkpoints().unsealed()).to.deep.equal({ firstSeq: 4, lastSeq: 5, previous: first });
  });

  it('stores every field of a checkpoint, and its time to the microsecond', async () => {
    await append(1);
    const previous = await newest();
    const added = await sealed(checkpoints());
    expect(added.closedAt % 1_000).to.not.equal(0);
    expect(added.prevCheckpointHash).to.be.a('string');
    expect(await checkpoints().page(previous?.checkpointId ?? 0, 10)).to.deep.equal([added]);
    expect(await checkpoints().newest()).to.deep.equal(added);
  });

  it('adds only the successor of the newest checkpoint', async () => {
    await append(2);
    const { next } = await successor();
    const before = await newest();
    for (const changes of [
      { checkpointId: next.checkpointId + 1 },
      { checkpointId: next.checkpointId - 1 },
      { checkpointId: 1 },
      { firstSeq: next.firstSeq + 1 },
      { firstSeq: next.firstSeq - 1 },
      { firstSeq: 1 },
    ]) {
      expect(await checkpoints().add({ ...next, ...changes }), JSON.stringify(changes)).to.equal('overtaken');
    }
    expect(await newest()).to.deep.equal(before);
    expect(await checkpoints().add(next)).to.equal('added');
    expect(await checkpoints().add(next)).to.equal('overtaken');
    expect(await newest()).to.deep.equal(next);
  });

  it('refuses a checkpoint whose last number has no record, whose range is inverted, or that has no link', async () => {
    await append(2);
    const { unsealed, next } = await successor();
    for (const changes of [
      { lastSeq: next.lastSeq + 1 },
      { lastSeq: Number.MAX_SAFE_INTEGER },
      { lastSeq: next.firstSeq - 1 },
      { prevCheckpointHash: undefined },
    ]) {
      const thrown = await checkpoints()
        .add({ ...next, ...changes })
        .catch((error: unknown) => error);
      expect(String(thrown), JSON.stringify(changes)).to.include('a checkpoint must end with a stored record');
    }
    expect(await checkpoints().unsealed()).to.deep.equal(unsealed);
    expect(await checkpoints().add(next)).to.equal('added');
  });

  it('lets one of twenty concurrent sealers seal a range, and answers the others that they were overtaken', async () => {
    await append(4);
    const { next } = await successor();
    const rivals: Checkpoint[] = Array.from({ length: 20 }, (_, nth) => ({ ...next, kid: `rival-${nth}` }));
    const outcomes = await Promise.all(rivals.map((rival) => checkpoints().add(rival)));
    expect(outcomes.filter((outcome) => outcome === 'added')).to.have.length(1);
    expect(outcomes.filter((outcome) => outcome === 'overtaken')).to.have.length(19);
    expect(await newest()).to.deep.equal(rivals[outcomes.indexOf('added')]);
  });

  it('pages through checkpoints in the order of their ids', async () => {
    for (let round = 0; round < 3; round++) {
      await append(1);
      await sealed(checkpoints());
    }
    const all = await checkpoints().page(0, 1_000);
    expect(all.map(({ checkpointId }) => checkpointId)).to.deep.equal(all.map((_, index) => index + 1));
    const paged: Checkpoint[] = [];
    for (;;) {
      const page = await checkpoints().page(paged.at(-1)?.checkpointId ?? 0, 2);
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).to.deep.equal(all);
    expect(await checkpoints().page(all.length, 10)).to.deep.equal([]);
    expect(await checkpoints().pageBefore(undefined, 2)).to.deep.equal(all.slice(-2).reverse());
    expect(await checkpoints().pageBefore(all.length, 1_000)).to.deep.equal(all.slice(0, -1).reverse());
    expect(await checkpoints().pageBefore(1, 10)).to.deep.equal([]);
  });

  it('reads the records of a range in the order of their numbers, not of their times', async () => {
    const firstSeq = (await lastSeq()) + 1;
    // More than a minute apart, so that each record keeps its date. On Postgres they are in two partitions.
    for (const days of [9, 1, 30, 5]) {
      await storage().ledger.append(
        anEntry('token.denied', { at: plusSeconds(NOON, days * 86_400), detail: String(days), reason: 'why' }),
      );
    }
    const range = { firstSeq, lastSeq: firstSeq + 3 };
    const whole = await checkpoints().records(range, 0, 100);
    expect(whole.map((record) => [record.seq - firstSeq, record.detail])).to.deep.equal([
      [0, '9'],
      [1, '1'],
      [2, '30'],
      [3, '5'],
    ]);
    expect(whole).to.deep.equal((await ledgerOf(storage())).toSorted((a, b) => a.seq - b.seq).slice(-4));
    expect(await checkpoints().records(range, firstSeq, 2)).to.deep.equal(whole.slice(1, 3));
    expect(await checkpoints().records({ ...range, lastSeq: firstSeq + 1 }, 0, 100)).to.deep.equal(whole.slice(0, 2));
    expect(await checkpoints().records(range, firstSeq + 3, 100)).to.deep.equal([]);
  });

  it('returns each record with the checkpoint that seals it', async () => {
    await seal(checkpoints());
    const from = await lastSeq();
    await append(2);
    const first = await sealed(checkpoints());
    await append(1);
    const second = await sealed(checkpoints());
    await append(2);
    const shown = (await ledgerOf(storage())).filter((record) => record.seq > from).toSorted((a, b) => a.seq - b.seq);
    const expected = [first.checkpointId, first.checkpointId, second.checkpointId, undefined, undefined];
    expect(shown.map((record) => record.checkpoint)).to.deep.equal(expected);
    const page = await storage().ledger.page({ limit: 1, now: NOON });
    expect(page.records.map((record) => record.checkpoint)).to.deep.equal([1]);
    const range = { firstSeq: from + 1, lastSeq: from + 5 };
    const read = await checkpoints().records(range, 0, 10);
    expect(read.map((record) => record.checkpoint)).to.deep.equal(expected);
  });

  it('finds the checkpoint of a sealed number, and no checkpoint of any other number', async () => {
    await seal(checkpoints());
    await append(3);
    const checkpoint = await sealed(checkpoints());
    await append(1);
    for (let seq = checkpoint.firstSeq; seq <= checkpoint.lastSeq; seq++) {
      expect(await checkpoints().sealing(seq)).to.deep.equal({ kind: 'sealed', checkpoint });
    }
    for (const seq of [checkpoint.lastSeq + 1, checkpoint.lastSeq + 2, Number.MAX_SAFE_INTEGER, 0, -1]) {
      expect(await checkpoints().sealing(seq), String(seq)).to.deep.equal({ kind: 'not_sealed' });
    }
  });

  it('covers a number without a record, taken by an append that was rolled back', async () => {
    await seal(checkpoints());
    const connection = await outside();
    await append(1);
    if (kind.engine === 'postgres') {
      await connection.sql('begin');
      await connection.sql(appendsEntries(`'[{"at": "2026-09-17T12:00:00Z", "event": "admin.denied"}]'`));
      await connection.sql('rollback');
    } else {
      await connection.sql('update sqlite_sequence set seq = seq + 1');
    }
    await append(2);
    const checkpoint = await sealed(checkpoints());
    expect(checkpoint.lastSeq - checkpoint.firstSeq).to.equal(3);
    expect(checkpoint.treeSize).to.equal(3);
    // The number of a deleted record looks the same. Only a proof tells them apart.
    const held = await checkpoints().records(checkpoint, 0, 10);
    expect(held.map((record) => record.seq - checkpoint.firstSeq)).to.deep.equal([0, 2, 3]);
    expect(await checkpoints().sealing(checkpoint.firstSeq + 1)).to.deep.equal({ kind: 'sealed', checkpoint });
    expect(await checkpoints().sealing(checkpoint.firstSeq + 2)).to.deep.equal({ kind: 'sealed', checkpoint });
  });

  it('has left no gap, no overlap and no unsealed record after the tests above', async () => {
    await seal(checkpoints());
    expect(await faultsOf(checkpoints())).to.deep.equal([]);
  });
});
