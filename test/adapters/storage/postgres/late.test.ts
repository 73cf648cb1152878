import { expect } from 'chai';
import { lateness, type Waiting } from '../../../../adapters/storage/postgres/late.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';

const WAIT_MS = 2_000;
const NOW = 100_000;

describe('calls that wait behind other calls on Postgres', () => {
  const { now } = performance;
  beforeEach(() => {
    performance.now = () => NOW;
  });
  afterEach(() => {
    performance.now = now;
  });

  const calls = (...waited: readonly number[]) => {
    const refused: unknown[] = [];
    const items: readonly Waiting[] = waited.map((ms) => ({
      since: NOW - ms,
      reject: (error) => refused.push(error),
    }));
    return { items, refused };
  };

  it('wait without a time limit while Postgres answers', () => {
    const { items, refused } = calls(0, 10 * WAIT_MS);
    expect(lateness(WAIT_MS).refuseLate(items)).to.deep.equal(items);
    expect(refused).to.deep.equal([]);
  });

  it('are refused after their time limit, and not before, while Postgres does not answer', () => {
    const late = lateness(WAIT_MS);
    late.isAnswering = false;
    const { items, refused } = calls(WAIT_MS + 1, WAIT_MS, 0, WAIT_MS + 1);
    expect(late.refuseLate(items)).to.deep.equal([items[1], items[2]]);
    expect(refused).to.have.length(2);
    for (const error of refused) expect(error).to.be.instanceOf(StorageUnavailable);
  });

  it('wait without a time limit again once Postgres answers', () => {
    const late = lateness(WAIT_MS);
    late.isAnswering = false;
    late.isAnswering = true;
    const { items } = calls(10 * WAIT_MS);
    expect(late.refuseLate(items)).to.deep.equal(items);
  });
});
