/** What a fault run finds in the answers by themselves: who waited, who was not served, what grew. */

import { expect } from 'chai';
import type { Kept } from '../../../scripts/faults/load/kept.ts';
import { byThemselves } from '../../../scripts/faults/runs/killing.ts';
import { recovery } from '../../../scripts/faults/runs/recovery.ts';
import { atRate, unanswered, unserved } from '../../../scripts/faults/runs/served.ts';
import { type Collected, judged, type Sample } from '../../../scripts/faults/runs/soaking.ts';

const SECOND = 1_000;

function one(began: number, change: Partial<Kept> = {}): Kept {
  return { act: 'introspect', status: 200, began, ended: began + 10, ...change };
}
const refused = (began: number) => one(began, { status: 503, retryAfter: '5' });

describe('the recovery from a fault', () => {
  const respites = [{ from: 10 * SECOND, until: 18 * SECOND }];
  const faultsOf = (kept: readonly Kept[]) => recovery([one(9 * SECOND), one(17 * SECOND), ...kept], respites).faults;

  it('may take five seconds, as long as everybody is answered in nine', () => {
    const kept = [refused(9_500), refused(14_900), one(2_000, { ended: 10_900 })];
    expect(faultsOf(kept)).to.deep.equal([]);
    expect(recovery([one(17_000), ...kept], respites).figure).to.match(/ 4900 ms later/);
  });

  it('is told to take too long, to keep somebody waiting, and not to come', () => {
    expect(faultsOf([refused(15_100)])).to.match(/it took 5100 ms until everything was served again/);
    expect(faultsOf([one(2_000, { ended: 11_100 })])).to.match(/an answer took 9100 ms/);
    expect(recovery([refused(10_100)], respites).faults).to.match(/after 1 of the faults nothing was served/);
  });
});

describe('requests that were not served', () => {
  it('are excused by one in a hundred, and where nobody listened', () => {
    const kept = Array.from({ length: 199 }, (_, at) => one(at));
    expect(unserved([...kept, refused(1), ...Array.from({ length: 50 }, () => one(1, { status: 0, refused: true }))]))
      .to.have.property('losses')
      .that.deep.equals([]);
    expect(unserved([...kept, refused(1), refused(2), refused(3)]).losses).to.match(/1.49 % were answered 503/);
  });

  it('are excused by a kill that they were under way at, or had not heard of', () => {
    const broken = (began: number, ended: number) => one(began, { status: 0, error: 'ECONNRESET', ended });
    const kept = [broken(900, 1_001), broken(1_100, 1_101), one(5_000, { status: 0, refused: true })];
    expect(unanswered(kept, [1_000])).to.deep.equal([]);
    expect(unanswered(kept)).to.have.length(2);
    expect(unanswered([broken(900, 999), broken(2_100, 2_101)], [1_000])).to.have.length(2);
  });

  it('are not excused by a process that went down by itself', () => {
    expect(byThemselves(['SIGKILL', 'SIGKILL'])).to.deep.equal([]);
    expect(byThemselves(['SIGKILL', 1, 'SIGABRT'])).to.have.length(2);
  });

  it('were perhaps never sent', () => {
    const kept = Array.from({ length: 101 }, (_, at) => one(at * 10));
    expect(atRate(kept, 100).losses).to.deep.equal([]);
    expect(atRate(kept, 120).losses).to.deep.equal(['only 101 of 120 requests a second were sent']);
    expect(atRate([], 1).losses).to.have.length(1);
  });
});

describe('a soak', () => {
  const samples = (change: (minute: number) => Partial<Sample> = () => ({})): readonly Sample[] =>
    Array.from({ length: 21 }, (_, at) => {
      const minute = 10 + at;
      return {
        ...{ minute, megabytes: 200 + (at % 2) * 20, descriptors: 60 + (at % 3), clients: at, sessions: 24 },
        ...change(minute),
      };
    });

  const alive = (perMinute = 0): readonly Collected[] =>
    [10, 30].map((minute) => ({ minute, heapMegabytes: 40, megabytes: 120 + minute * perMinute }));

  it('is passed by memory that breathes, and descriptors that come and go', () => {
    expect(judged(samples(), alive()).losses).to.deep.equal([]);
    expect(
      judged(
        samples((minute) => ({ megabytes: 200 + minute * 0.9 })),
        alive(0.9),
      ).losses,
    ).to.deep.equal([]);
  });

  it('is not by what grows, or by too little to tell', () => {
    const lossesOf = (change: (minute: number) => Partial<Sample>) => judged(samples(change), alive()).losses;
    expect(lossesOf((minute) => ({ megabytes: 200 + minute * 1.1 }))).to.match(/^memory grows by 1.10/);
    expect(judged(samples(), alive(1.1)).losses).to.match(/^what is alive of memory grows by 1.10/);
    expect(lossesOf(() => ({ megabytes: 400 }))).to.match(/400 MB resident/);
    expect(lossesOf((minute) => ({ descriptors: 60 + minute }))).to.match(/descriptors more at the end/);
    expect(lossesOf(() => ({ sessions: 25 }))).to.match(/25 sessions in Postgres/);
    expect(judged(samples().slice(0, 2), alive()).losses).to.match(/too few samples/);
    expect(judged(samples(), alive().slice(0, 1)).losses).to.match(/too few samples/);
  });
});
