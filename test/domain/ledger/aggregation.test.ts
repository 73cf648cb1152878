import { expect } from 'chai';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { type Aggregation, type AnonymousDenial, aggregation } from '../../../domain/ledger/aggregation.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const WINDOW = 90;
const malformed: AnonymousDenial = { event: 'token.denied', reason: 'invalid_request' };
const unknown: AnonymousDenial = { event: 'token.denied', reason: 'actor_unknown_agent' };
const admin: AnonymousDenial = { event: 'admin.denied', reason: 'invalid_api_key' };
const signal: AnonymousDenial = { event: 'signal.denied', reason: 'invalid_request' };
const later = (seconds: number): Instant => plusSeconds(NOON, seconds);
const MICRO = 1e-6;

describe('the aggregation of anonymous denials', () => {
  let windows: Aggregation;
  beforeEach(() => {
    windows = aggregation(WINDOW);
  });
  const occur = (denial: AnonymousDenial, times: number, at = NOON) => {
    const kinds: string[] = [];
    for (let time = 0; time < times; time += 1) kinds.push(windows.occurred(denial, at).kind);
    return kinds;
  };

  it('records the first denial of a window and counts the others', () => {
    expect(occur(malformed, 4)).to.deep.equal(['first', 'counted', 'counted', 'counted']);
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([{ ...malformed, count: 3 }]);
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([]);
  });

  it('makes no summary for a single denial', () => {
    occur(malformed, 1);
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([]);
    expect(windows.takeAll()).to.deep.equal([]);
  });

  it('keeps a separate window for every event, reason and detail', () => {
    const nothing = { event: 'sponsor.signal', reason: 'ssf_nothing_ended' } as const;
    const details = ['session', 'tokens'].map((detail) => ({ ...nothing, detail }));
    const all = [malformed, unknown, admin, signal, ...details];
    for (const denial of all) {
      expect(occur(denial, 2)).to.deep.equal(['first', 'counted']);
    }
    expect(windows.takeAll()).to.deep.equal(all.map((one) => ({ ...one, count: 1 })));
  });

  it('ends a window exactly its length after its first denial', () => {
    occur(malformed, 1);
    occur(malformed, 1, later(WINDOW - MICRO));
    expect(windows.takeEnded(later(WINDOW - MICRO))).to.deep.equal([]);
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([{ ...malformed, count: 1 }]);
  });

  it('ends only the windows that have reached their length', () => {
    occur(malformed, 2);
    occur(admin, 3, later(1));
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([{ ...malformed, count: 1 }]);
    expect(windows.takeEnded(later(WINDOW + 1))).to.deep.equal([{ ...admin, count: 2 }]);
  });

  it('opens a window at the next denial, and returns the summary of the previous window', () => {
    occur(malformed, 5);
    expect(windows.occurred(malformed, later(WINDOW))).to.deep.equal({
      kind: 'first',
      ended: { ...malformed, count: 4 },
    });
    expect(occur(malformed, 1, later(2 * WINDOW - MICRO))).to.deep.equal(['counted']);
    expect(windows.takeEnded(later(2 * WINDOW))).to.deep.equal([{ ...malformed, count: 1 }]);
    expect(windows.occurred(malformed, later(3 * WINDOW))).to.deep.equal({ kind: 'first', ended: undefined });
  });

  it('ends a window if the clock is set back', () => {
    occur(malformed, 2, later(3600));
    expect(windows.takeEnded(later(0))).to.deep.equal([{ ...malformed, count: 1 }]);
  });

  it('adds the denials of a failed summary to the open window', () => {
    occur(malformed, 2);
    windows.giveBack(malformed, 6);
    expect(occur(malformed, 1, later(1))).to.deep.equal(['counted']);
    expect(windows.takeEnded(later(WINDOW))).to.deep.equal([{ ...malformed, count: 8 }]);
  });

  it('keeps the denials of a failed summary if no window is open, and still records the next denial', () => {
    windows.giveBack(malformed, 2);
    windows.giveBack(malformed, 3);
    expect(windows.occurred(malformed, NOON)).to.deep.equal({ kind: 'first', ended: { ...malformed, count: 5 } });
    windows.giveBack(admin, 2);
    expect(windows.takeEnded(NOON)).to.deep.equal([{ ...admin, count: 2 }]);
    expect(windows.takeAll()).to.deep.equal([]);
  });

  it('keeps only the event and reason of a denial', () => {
    windows.occurred({ ...malformed, scope: 'sent' } as AnonymousDenial, NOON);
    windows.occurred({ ...malformed, scope: 'sent' } as AnonymousDenial, NOON);
    expect(windows.takeAll()).to.deep.equal([{ ...malformed, count: 1 }]);
  });
});
