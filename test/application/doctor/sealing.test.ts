import { expect } from 'chai';
import { judgeNumbering, judgeSealing, readNumbers } from '../../../application/doctor/ledger.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { movedClock } from '../../support/moved-clock.ts';

describe('The examination of the sealing', () => {
  it('says of an empty ledger that there is no record, and not that all are sealed', () => {
    const empty = { oldestUnsealedAt: undefined, unsealed: 0, newestCheckpoint: undefined, signers: [] };
    expect(judgeSealing(empty, 'ok', movedClock().now(), 60)).to.deep.equal({
      status: 'ok',
      sentence: 'There is no record yet.',
    });
  });

  for (const [title, isSealed, status] of [
    ['is ok while records wait and two records have a sealed number', true, 'ok'],
    ['fails if they have an unsealed one', false, 'failed'],
  ] as const) {
    it(title, () => {
      const now = movedClock().now();
      const young = { oldestUnsealedAt: now, unsealed: 3, newestCheckpoint: undefined, signers: [] };
      expect(judgeSealing(young, { usedTwice: { seq: 1, isSealed } }, now, 60).status).to.equal(status);
    });
  }

  it('does not say that numbers are unique if it could not look, and that nothing is sealed', async () => {
    const late = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    const numbers = await readNumbers({
      numbering: async () => 'ok',
      checkpoints: {
        usedTwice: () => Promise.reject(new StorageUnavailable('Postgres did not answer', { cause: late })),
      },
    });
    expect(judgeNumbering(numbers)).to.deep.include({
      status: 'warning',
      sentence: 'Whether two records have one number could not be examined (57014).',
    });
    const now = movedClock().now();
    const young = { oldestUnsealedAt: now, unsealed: 1, newestCheckpoint: undefined, signers: [] };
    expect(judgeSealing(young, numbers, now, 60).status).to.equal('ok');
  });
});
