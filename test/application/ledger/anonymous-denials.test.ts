import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import {
  type AnonymousDenials,
  anonymousDenials,
  measuredAnonymousDenials,
} from '../../../application/ledger/anonymous-denials.ts';
import { type Decisions, StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { AnonymousDenial } from '../../../domain/ledger/aggregation.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const WINDOW = 60;
const malformed: AnonymousDenial = { event: 'token.denied', reason: 'invalid_request' };
const stranger: AnonymousDenial = { event: 'admin.denied', reason: 'missing_api_key' };

describe('anonymous denials', () => {
  let clock: MovedClock;
  let log: CapturedLog;
  let storage: TestDatabase;
  /** If set, each write fails with this error. */
  let away: Error | undefined;
  /** After this many writes, each write fails. */
  let answers: number;
  let attempts: number;
  /** Each write waits for this. */
  let busy: Promise<void>;
  let denials: AnonymousDenials;

  beforeEach(async () => {
    clock = movedClock();
    log = capturedLog();
    storage = await openTestDatabase();
    away = undefined;
    answers = Number.POSITIVE_INFINITY;
    attempts = 0;
    busy = Promise.resolve();
    denials = over(WINDOW);
  });
  afterEach(() => storage.close());

  function over(windowSeconds: number | undefined): AnonymousDenials {
    const decisions: Decisions = {
      async decide(decision, input) {
        attempts += 1;
        await busy;
        if (away !== undefined) throw away;
        answers -= 1;
        if (answers < 0) throw new StorageUnavailable('away');
        return storage.decide(decision, input);
      },
    };
    return anonymousDenials({ decisions, clock, log }, windowSeconds);
  }
  const times = async (count: number, denial = malformed) => {
    for (let time = 0; time < count; time += 1) await denials.record(denial);
  };
  /** Reason and count of every record, oldest first. */
  const written = async () => {
    const { records } = await storage.ledger.page({ limit: 1000, now: clock.now() });
    return records.map(({ reason, count }) => [reason, count]);
  };
  const failureOf = (promise: Promise<unknown> | undefined) =>
    promise?.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('are recorded once in a window, and summarised after its end', async () => {
    await times(3);
    await times(1, stranger);
    await denials.closeEnded();
    expect(await written()).to.deep.equal([
      ['invalid_request', undefined],
      ['missing_api_key', undefined],
    ]);
    clock.advance(WINDOW);
    await denials.closeEnded();
    const { records } = await storage.ledger.page({ limit: 10, now: clock.now() });
    expect(records).to.have.lengthOf(3);
    const { seq: _seq, at, ...summary } = records[2] ?? {};
    expect(at).to.be.at.least((records[0]?.at ?? 0) + WINDOW * 1e6);
    expect(Object.fromEntries(Object.entries(summary).filter(([, value]) => value !== undefined))).to.deep.equal({
      event: 'token.denied',
      decision: 'deny',
      reason: 'invalid_request',
      count: 2,
    });
  });

  it('that come concurrently make one record; the others are only counted', async () => {
    const recordings = Array.from({ length: 50 }, () => denials.record(malformed));
    expect(recordings.filter((recording) => recording !== undefined)).to.have.lengthOf(1);
    await Promise.all(recordings);
    await denials.closeAll();
    expect(await written()).to.deep.equal([
      ['invalid_request', undefined],
      ['invalid_request', 49],
    ]);
  });

  it('of the next window are recorded after the summary of the previous window', async () => {
    await times(2);
    clock.advance(WINDOW);
    await times(1);
    expect(await written()).to.deep.equal([
      ['invalid_request', undefined],
      ['invalid_request', 1],
      ['invalid_request', undefined],
    ]);
  });

  it('do not fail while the database is unavailable, cost one attempt a window, and are all in the next summary', async () => {
    away = new StorageUnavailable('away');
    await times(5);
    expect(attempts).to.equal(1);
    away = undefined;
    await times(2);
    expect(await written()).to.deep.equal([]);
    clock.advance(WINDOW);
    await denials.closeEnded();
    expect(await written()).to.deep.equal([['invalid_request', 7]]);
    expect(log.lines.join()).to.include('could not be recorded').and.to.include('invalid_request');
  });

  it('that occurred once while the database was unavailable are summarised, because they have no record', async () => {
    away = new StorageUnavailable('away');
    await times(1);
    away = undefined;
    clock.advance(WINDOW);
    await denials.closeEnded();
    expect(await written()).to.deep.equal([['invalid_request', 1]]);
  });

  it('stay counted if the write of their summary fails', async () => {
    await times(4);
    await times(3, stranger);
    clock.advance(WINDOW);
    away = new StorageUnavailable('away');
    expect(await failureOf(denials.closeEnded())).to.equal(away);
    // The first denial of the next window is only counted too, because its record cannot be written.
    await times(2);
    away = undefined;
    clock.advance(WINDOW);
    await denials.closeEnded();
    expect((await written()).slice(2).sort()).to.deep.equal([
      ['invalid_request', 5],
      ['missing_api_key', 2],
    ]);
  });

  it('are summarised once, even if the database becomes unavailable between two summaries', async () => {
    await times(4);
    await times(3, stranger);
    clock.advance(WINDOW);
    answers = 1;
    expect(await failureOf(denials.closeEnded())).to.be.instanceOf(StorageUnavailable);
    answers = Number.POSITIVE_INFINITY;
    await denials.closeEnded();
    expect((await written()).slice(2)).to.deep.equal([
      ['invalid_request', 3],
      ['missing_api_key', 2],
    ]);
  });

  it('are written at the shutdown, even before their window ends', async () => {
    await times(3);
    await times(1, stranger);
    await denials.closeAll();
    await denials.closeAll();
    expect((await written()).slice(2)).to.deep.equal([['invalid_request', 2]]);
  });

  it('are all written when closeAll resolves, even if a write was under way', async () => {
    await times(2);
    clock.advance(WINDOW);
    let answer = (): void => undefined;
    busy = new Promise((resolve) => {
      answer = resolve;
    });
    const ending = denials.closeEnded();
    let isClosed = false;
    const closing = denials.closeAll().then(() => {
      isClosed = true;
    });
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(isClosed).to.equal(false);
    answer();
    await Promise.all([ending, closing]);
    expect((await written()).slice(1)).to.deep.equal([['invalid_request', 1]]);
  });

  it('that cannot be written at the shutdown are logged with their count', async () => {
    await times(3);
    away = new StorageUnavailable('away');
    await denials.closeAll();
    expect(log.lines.join()).to.include('"reason":"invalid_request","count":2');
  });

  it('that cannot be recorded are logged with the trace of their request', async () => {
    away = new StorageUnavailable('away');
    for (const window of [WINDOW, undefined]) {
      const measured = measuredAnonymousDenials(over(window), { denied: () => undefined });
      await measured.record(malformed, aTrace);
    }
    const line = { trace_id: aTrace.traceId, span_id: aTrace.spanId, event: 'token.denied', reason: 'invalid_request' };
    const about = { level: 'warn', message: 'an anonymous denial could not be recorded', ...line };
    expect(log.lines.map((text) => JSON.parse(text))).to.deep.equal([about, about]);
  });

  it('pass on an error other than StorageUnavailable, and are counted nevertheless', async () => {
    away = new RangeError('a bug');
    expect(await failureOf(denials.record(malformed))).to.equal(away);
    away = undefined;
    clock.advance(WINDOW);
    await denials.closeEnded();
    expect(await written()).to.deep.equal([['invalid_request', 1]]);
  });

  it('each get their own record without aggregation, and do not fail while the database is unavailable', async () => {
    denials = over(undefined);
    await times(3);
    clock.advance(WINDOW);
    await denials.closeEnded();
    await denials.closeAll();
    expect(await written()).to.deep.equal(Array.from({ length: 3 }, () => ['invalid_request', undefined]));
    away = new StorageUnavailable('away');
    await times(1);
    expect(log.lines.join()).to.include('could not be recorded');
  });
});
