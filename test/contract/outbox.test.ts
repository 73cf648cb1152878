import { expect } from 'chai';
import type { DrainOutcome } from '../../application/ports/outbox.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { whileWritesFail } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anAssertion,
  anEntry,
  aRefusal,
  aRenewal,
  ledgerOf,
  newAgentId,
  newSponsorKey,
  openedTask,
  registeredAgent,
} from './storage-fixtures.ts';

/** Every failed record is due again by then. */
const MUCH_LATER = plusSeconds(NOON, 86_400);

onEveryDatabase('a ledger without a sink', ({ storage }) => {
  it('queues nothing', async () => {
    await openedTask(storage());
    const deliver = () => Promise.reject(new Error('there is nothing to deliver'));
    const outcome = await storage().outbox.drain({ now: MUCH_LATER, limit: 10 }, deliver);
    expect(outcome).to.deep.equal({ kind: 'nothing_due' });
  });
});

onEveryDatabase('copying records to the sink', (stage) => {
  const { database } = stage;
  let time = NOON;
  const clock = { now: () => time };
  let storage: ReturnType<typeof stage.storage>;
  before(async () => {
    storage = await database().open({ clock });
  });
  after(() => storage.close());

  const outbox = () => storage.outbox;
  const append = (detail: string, at: Instant = NOON) => storage.ledger.append(anEntry('admin.denied', { detail, at }));
  const details = (records: readonly LedgerRecord[]) => records.map((record) => record.detail);

  /** Delivers all queued records. */
  const empty = async () => {
    const delivered: LedgerRecord[] = [];
    const deliver = async (records: readonly LedgerRecord[]) => {
      delivered.push(...records);
      return true;
    };
    while ((await outbox().drain({ now: MUCH_LATER, limit: 1_000 }, deliver)).kind === 'delivered');
    return delivered;
  };
  /** Drains the outbox at that time. Returns the outcome, and the records that were passed on. */
  const drain = async (now: Instant, answer: boolean, limit = 100) => {
    let given: readonly LedgerRecord[] = [];
    const outcome = await outbox().drain({ now, limit }, async (records) => {
      given = records;
      return answer;
    });
    return { outcome, given };
  };

  beforeEach(async () => {
    time = NOON;
    await outbox().setQueueing(true);
    await empty();
  });

  it('queues every record of every decision while queueing is on, and no record while it is off', async () => {
    const before = await ledgerOf(storage);
    const agent = await registeredAgent(storage);
    const opening = await openedTask(storage, {}, agent);
    for (let time = 0; time < 3; time++) await storage.tasks.renew(aRenewal(opening));
    await storage.ledger.refuse({ entry: aRefusal('scope_widened'), assertion: anAssertion(newAgentId()) });
    const { sponsorKey } = opening.task;
    await storage.sponsors.block({ sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON }, 'sponsor_blocked');
    const known = new Set(before.map((record) => record.seq));
    const appended = (await ledgerOf(storage)).filter((record) => !known.has(record.seq));
    expect(appended).to.have.length(7);
    expect(await empty()).to.deep.equal(appended.toSorted((a, b) => a.seq - b.seq));

    await outbox().setQueueing(false);
    await append('unqueued');
    const unqueued = await openedTask(storage, { sponsorKey: newSponsorKey() }, agent);
    const end = { at: NOON, reason: 'operator_kill_switch' } as const;
    await storage.tasks.end({ kind: 'sponsor', sponsorKey: unqueued.task.sponsorKey }, end);
    expect(await empty()).to.deep.equal([]);
  });

  it('keeps queued records if queueing is turned off', async () => {
    await append('queued');
    await outbox().setQueueing(false);
    expect(details(await empty())).to.deep.equal(['queued']);
  });

  it('delivers at most the given number of records, in the order of their sequence numbers', async () => {
    // The dates are in the opposite order of the numbers.
    for (const nth of [5, 4, 3, 2, 1]) await append(String(nth), plusSeconds(NOON, nth * 100));
    const { outcome, given } = await drain(NOON, true, 3);
    expect(details(given)).to.deep.equal(['5', '4', '3']);
    expect(given.map((record) => record.seq)).to.deep.equal(
      given.map((record) => record.seq).toSorted((a, b) => a - b),
    );
    expect(outcome).to.deep.equal({ kind: 'delivered', count: 3 });
    expect(details((await drain(NOON, true)).given)).to.deep.equal(['2', '1']);
    expect((await drain(MUCH_LATER, true)).outcome).to.deep.equal({ kind: 'nothing_due' });
  });

  it('delivers every field of a record at once, even if its date is in the future', async () => {
    await append('from the future', MUCH_LATER);
    const [record] = (await drain(NOON, true)).given;
    expect(record?.detail).to.equal('from the future');
    expect(record).to.deep.equal((await ledgerOf(storage)).find(({ seq }) => seq === record?.seq));
  });

  it('doubles the wait after each failure, from one second up to five minutes', async () => {
    await append('unlucky');
    for (const wait of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
      const asked = time;
      const outcome = await outbox().drain({ now: asked, limit: 10 }, async () => {
        // The failing delivery takes ten seconds.
        time = plusSeconds(asked, 10);
        return false;
      });
      expect(outcome).to.deep.equal({ kind: 'failed', count: 1 });
      const due = plusSeconds(asked, 10 + wait);
      const early = await drain(instantFromMicros(due - 1), true);
      expect(early.outcome, String(wait)).to.deep.equal({ kind: 'nothing_due' });
      time = due;
    }
    expect((await drain(time, true)).outcome).to.deep.equal({ kind: 'delivered', count: 1 });
    expect(await empty()).to.deep.equal([]);
  });

  it('does not wait for the day of a clock that was ahead, however often the sink has failed', async () => {
    await append('unlucky');
    for (let failure = 0; failure < 3; failure++) {
      time = plusSeconds(NOON, 86_400);
      expect((await drain(time, false)).given).to.have.length(1);
      time = plusSeconds(NOON, failure);
      // An instance whose clock is right, and a minute behind.
      expect(details((await drain(plusSeconds(time, -60), false)).given)).to.deep.equal(['unlucky']);
      expect((await drain(plusSeconds(time, -60), false)).outcome).to.deep.equal({ kind: 'nothing_due' });
    }
    expect((await drain(plusSeconds(NOON, 300), true)).outcome).to.deep.equal({ kind: 'delivered', count: 1 });
  });

  it('delays only the failed records', async () => {
    await append('unlucky');
    await drain(NOON, false);
    await append('lucky');
    expect(details((await drain(NOON, true)).given)).to.deep.equal(['lucky']);
    await append('unlucky too');
    const second = await drain(plusSeconds(NOON, 1), false);
    expect(details(second.given)).to.deep.equal(['unlucky', 'unlucky too']);
    // The first record has failed twice, the second record once.
    expect(details((await drain(plusSeconds(NOON, 1), true)).given)).to.deep.equal(['unlucky too']);
    expect(details((await drain(plusSeconds(NOON, 2), true)).given)).to.deep.equal(['unlucky']);
  });

  it('never passes one record to two concurrent drains, and no drain waits for the other', async () => {
    for (let nth = 0; nth < 6; nth++) await append(String(nth));
    let answer: (delivered: boolean) => void = () => undefined;
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let first: readonly LedgerRecord[] = [];
    const slow = outbox().drain({ now: NOON, limit: 4 }, (records) => {
      first = records;
      begun();
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    await started;
    const other = await drain(NOON, true);
    expect(details(first)).to.deep.equal(['0', '1', '2', '3']);
    expect(details(other.given)).to.deep.equal(['4', '5']);
    expect((await drain(MUCH_LATER, true)).outcome).to.deep.equal({ kind: 'nothing_due' });
    // An append does not wait for the running drain either.
    await append('6');
    answer(false);
    expect(await slow).to.deep.equal({ kind: 'failed', count: 4 });
    expect(details(await empty())).to.deep.equal(['0', '1', '2', '3', '6']);
  });

  it('delivers each record once, by two drains, while others append', async () => {
    const delivered: string[] = [];
    const appending = Promise.all(Array.from({ length: 60 }, (_, nth) => append(String(nth))));
    const drainer = async () => {
      const outcomes: DrainOutcome['kind'][] = [];
      for (let round = 0; round < 20; round++) {
        const { kind } = await outbox().drain({ now: NOON, limit: 7 }, async (records) => {
          delivered.push(...records.map((record) => String(record.detail)));
          return true;
        });
        outcomes.push(kind);
      }
      return outcomes;
    };
    await Promise.all([drainer(), drainer()]);
    await appending;
    delivered.push(...details(await empty()).map(String));
    expect(delivered).to.have.length(60);
    expect(new Set(delivered).size).to.equal(60);
  });

  it('keeps a batch due if its delivery throws', async () => {
    await append('again');
    const thrown = await outbox()
      .drain({ now: NOON, limit: 10 }, () => Promise.reject(new Error('a bug in the sink')))
      .catch((error: unknown) => error);
    expect(String(thrown)).to.include('a bug in the sink');
    expect(details((await drain(NOON, true)).given)).to.deep.equal(['again']);
  });
});

onEveryDatabase('the outbox', ({ storage, database, outside, kind }) => {
  const queued = async () => {
    const rows = await (await outside()).sql('select seq, failures from outbox order by seq');
    return rows.map((row) => [Number(row.seq), row.failures]);
  };

  it('turns queueing on and off for all instances on the database, as the last change says', async () => {
    const other = await database().open();
    await storage().outbox.setQueueing(true);
    await other.outbox.setQueueing(false);
    const before = await queued();
    await storage().ledger.append(anEntry('admin.denied'));
    expect(await queued()).to.deep.equal(before);
    await storage().outbox.setQueueing(true);
    await other.ledger.append(anEntry('admin.denied'));
    expect(await queued()).to.have.length(before.length + 1);
    await other.close();
  });

  it('never passes one record to two instances; neither instance waits, and no append waits', async () => {
    if (kind.engine === 'sqlite') return;
    await storage().outbox.setQueueing(true);
    const other = await database().open();
    for (let nth = 0; nth < 2; nth++) await storage().ledger.append(anEntry('admin.denied'));
    const all = (await queued()).map(([seq]) => seq);
    const taken: number[] = [];
    const outcome = await storage().outbox.drain({ now: NOON, limit: all.length - 1 }, async (records) => {
      taken.push(...records.map((record) => record.seq));
      await other.outbox.drain({ now: NOON, limit: 100 }, async (rest) => {
        taken.push(...rest.map((record) => record.seq));
        return true;
      });
      await other.ledger.append(anEntry('admin.denied'));
      return true;
    });
    expect(outcome).to.deep.equal({ kind: 'delivered', count: all.length - 1 });
    expect(taken).to.deep.equal(all);
    expect(await queued()).to.have.length(1);
    await other.close();
  });

  it('delivers a batch again if the end of its delivery could not be stored', async () => {
    await storage().outbox.setQueueing(true);
    const connection = await outside();
    await storage().ledger.append(anEntry('admin.denied'));
    const given: (readonly number[])[] = [];
    const deliver = async (records: readonly LedgerRecord[]) => {
      given.push(records.map((record) => record.seq));
      return given.length !== 2;
    };
    const drained = () => storage().outbox.drain({ now: NOON, limit: 100 }, deliver);
    const before = await queued();
    const refusing = (on: 'delete' | 'update', act: () => Promise<unknown>) =>
      whileWritesFail(kind, connection, { table: 'outbox', on }, act);
    expect(await refusing('delete', () => drained().catch((error: unknown) => error))).to.be.instanceOf(Error);
    expect(await refusing('update', () => drained().catch((error: unknown) => error))).to.be.instanceOf(Error);
    expect(await queued()).to.deep.equal(before);
    expect(await drained()).to.deep.equal({ kind: 'delivered', count: before.length });
    expect(given).to.deep.equal(Array.from({ length: 3 }, () => before.map(([seq]) => seq)));
    expect(await queued()).to.deep.equal([]);
  });
});
