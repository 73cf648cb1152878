import { expect } from 'chai';
import { judgeSealing } from '../../../application/doctor/ledger.ts';
import { movedClock } from '../../support/moved-clock.ts';

describe('The examination of the sealing', () => {
  it('says of an empty ledger that there is no record, and not that all are sealed', () => {
    const empty = { oldestUnsealedAt: undefined, unsealed: 0, newestCheckpoint: undefined, signers: [] };
    expect(judgeSealing(empty, 'ok', movedClock().now(), 60)).to.deep.equal({
      status: 'ok',
      sentence: 'There is no record yet.',
    });
  });
});
