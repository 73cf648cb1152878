import { expect } from 'chai';
import { timeLimit } from '../../../adapters/platform/system-clock.ts';
import { describeCode, examineAll, judgeClock, judgeDatabaseClock, ok } from '../../../application/doctor/examine.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';

const SECRET = 'postgresql://role:password@host';

describe('The checks of doctor', () => {
  it('run concurrently, return in order, and end even if one check hangs', async () => {
    let beginLast = () => {};
    const lastBegan = new Promise<void>((resolve) => {
      beginLast = resolve;
    });
    const found = await examineAll(
      [
        { check: 'hangs', examine: () => new Promise<never>(() => undefined) },
        { check: 'waits for the next', examine: () => lastBegan.then(() => ok('All is well.')) },
        {
          check: 'hangs too',
          examine() {
            beginLast();
            return new Promise<never>(() => undefined);
          },
        },
      ],
      timeLimit,
      30,
    );
    expect(found.map(({ check, status }) => [check, status])).to.deep.equal([
      ['hangs', 'failed'],
      ['waits for the next', 'ok'],
      ['hangs too', 'failed'],
    ]);
    expect(found[0]?.sentence).to.equal('There was no answer within 0.03 seconds.');
  });

  it('report only the code of an error that a check throws', async () => {
    const cause = Object.assign(new Error(SECRET), { code: '28P01' });
    const thrown = new StorageUnavailable('No connection', { cause });
    const [finding] = await examineAll([{ check: 'throws', examine: () => Promise.reject(thrown) }], timeLimit);
    expect(finding).to.include({ status: 'failed', sentence: 'Looking failed (28P01).' });
    expect(JSON.stringify(finding)).not.to.include('password');
    expect(describeCode(Object.assign(new Error('x'), { code: SECRET }))).to.equal('');
    expect(describeCode('ECONNREFUSED')).to.equal('');
  });
});

describe('the clock of another machine', () => {
  for (const [ahead, status] of [
    [0, 'ok'],
    [5, 'ok'],
    [-5, 'ok'],
    [6, 'warning'],
    [-60, 'warning'],
    [61, 'failed'],
    [-61, 'failed'],
  ] as const) {
    it(`is ${status} if it is ${ahead} seconds ahead`, () => {
      expect(judgeClock("The provider's clock", ahead).status).to.equal(status);
    });
  }

  for (const [ahead, status] of [
    [-5, 'ok'],
    [6, 'warning'],
    [30, 'warning'],
    [-30, 'warning'],
    [31, 'failed'],
    [-31, 'failed'],
  ] as const) {
    it(`is ${status} if it is the database's and ${ahead} seconds ahead, as for a running service`, () => {
      expect(judgeDatabaseClock(ahead).status).to.equal(status);
    });
  }

  it('of the database is judged with the consequence', () => {
    expect(judgeDatabaseClock(-420).sentence).to.equal(
      "The database's clock is 7 minutes behind this machine's. That is more than 30 seconds: a service on this machine ends and deletes nothing by time.",
    );
  });

  it('is described as ahead or behind, by name', () => {
    expect(judgeClock("The provider's clock", 7.4).sentence).to.equal(
      "The provider's clock is 7 seconds ahead of this machine's.",
    );
    expect(judgeClock("The provider's clock", -90).sentence).to.match(
      /^The provider's clock is 1 minute 30 seconds behind this machine's\. That is more/,
    );
  });
});
