/** The findings of a fault run that need no ledger: waiting times, missing responses, and growth. */

import { expect } from 'chai';
import type { Operation } from '../../../scripts/faults/operations.ts';
import { recovery } from '../../../scripts/faults/runs/postgres-faults.ts';
import { atRate, crashes, unanswered, unserved } from '../../../scripts/faults/runs/served.ts';
import { type Collection, judge, type Sample } from '../../../scripts/faults/runs/soak.ts';

const SECOND = 1_000;

function one(began: number, change: Partial<Operation> = {}): Operation {
  return { kind: 'introspect', status: 200, began, ended: began + 10, ...change };
}
const refused = (began: number) => one(began, { status: 503, retryAfter: '5' });

describe('the recovery from a fault', () => {
  const periods = [{ from: 10 * SECOND, until: 18 * SECOND }];
  const lossesOf = (operations: readonly Operation[]) =>
    recovery([one(9 * SECOND), one(17 * SECOND), ...operations], periods).losses;

  it('may take five seconds, if every response arrives within nine', () => {
    const operations = [refused(9_500), refused(14_900), one(2_000, { ended: 10_900 })];
    expect(lossesOf(operations)).to.deep.equal([]);
    expect(recovery([one(17_000), ...operations], periods).figure).to.match(/ at most 4900 ms after/);
  });

  it('fails if it or a response takes longer, and if no request is served', () => {
    expect(lossesOf([refused(15_100)])).to.match(/it took 5100 ms until every request was served/);
    expect(lossesOf([one(2_000, { ended: 11_100 })])).to.match(/an answer took 9100 ms/);
    expect(recovery([refused(10_100)], periods).losses).to.match(/after 1 of the faults no request was served/);
  });
});

describe('unserved requests', () => {
  it('may be one in a hundred, not counting those at a time without a listening process', () => {
    const operations = Array.from({ length: 199 }, (_, at) => one(at));
    expect(
      unserved([
        ...operations,
        refused(1),
        ...Array.from({ length: 50 }, () => one(1, { status: 0, connectionRefused: true })),
      ]),
    )
      .to.have.property('losses')
      .that.deep.equals([]);
    expect(unserved([...operations, refused(1), refused(2), refused(3)]).losses).to.match(/1.49 % were answered 503/);
  });

  it('are explained by a kill during the request, or shortly before it', () => {
    const broken = (began: number, ended: number) => one(began, { status: 0, error: 'ECONNRESET', ended });
    const operations = [broken(900, 1_001), broken(1_100, 1_101), one(5_000, { status: 0, connectionRefused: true })];
    expect(unanswered(operations, [1_000])).to.deep.equal([]);
    expect(unanswered(operations)).to.have.length(2);
    expect(unanswered([broken(900, 999), broken(2_100, 2_101)], [1_000])).to.have.length(2);
  });

  it('are not explained by a process that exited or aborted', () => {
    expect(crashes(['SIGKILL', 'SIGKILL'])).to.deep.equal([]);
    expect(crashes(['SIGKILL', 1, 'SIGABRT'])).to.have.length(2);
  });

  it('are reported as missing if fewer were sent than the rate says', () => {
    const operations = Array.from({ length: 101 }, (_, at) => one(at * 10));
    expect(atRate(operations, 100).losses).to.deep.equal([]);
    expect(atRate(operations, 120).losses).to.deep.equal(['only 101 of 120 requests a second were sent']);
    expect(atRate([], 1).losses).to.have.length(1);
  });
});

describe('a soak', () => {
  const samples = (change: (minute: number) => Partial<Sample> = () => ({})): readonly Sample[] =>
    Array.from({ length: 21 }, (_, at) => {
      const minute = 10 + at;
      return {
        minute,
        megabytes: 200 + (at % 2) * 20,
        descriptors: 60 + (at % 3),
        clients: at,
        sessions: 16,
        ...change(minute),
      };
    });

  const alive = (perMinute = 0): readonly Collection[] =>
    [10, 30].map((minute) => ({ minute, heapMegabytes: 40, megabytes: 120 + minute * perMinute }));

  it('passes if memory and descriptors go up and down', () => {
    expect(judge(samples(), alive()).losses).to.deep.equal([]);
    expect(
      judge(
        samples((minute) => ({ megabytes: 200 + minute * 0.9 })),
        alive(0.9),
      ).losses,
    ).to.deep.equal([]);
  });

  it('fails if memory or descriptors grow, and if there are too few samples', () => {
    const lossesOf = (change: (minute: number) => Partial<Sample>) => judge(samples(change), alive()).losses;
    expect(lossesOf((minute) => ({ megabytes: 200 + minute * 1.1 }))).to.match(/^memory grows by 1.10/);
    expect(judge(samples(), alive(1.1)).losses).to.match(/^live memory grows by 1.10/);
    expect(lossesOf(() => ({ megabytes: 400 }))).to.match(/400 MB resident/);
    expect(lossesOf((minute) => ({ descriptors: 60 + minute }))).to.match(/descriptors more at the end/);
    expect(lossesOf(() => ({ sessions: 25 }))).to.match(/25 sessions in Postgres/);
    expect(judge(samples().slice(0, 2), alive()).losses).to.match(/too few samples/);
    expect(judge(samples(), alive().slice(0, 1)).losses).to.match(/too few samples/);
  });
});
