import { expect } from 'chai';
import { waitAfter } from '../../../domain/ledger/delivery.ts';

describe('the backoff of a delivery to the sink', () => {
  it('is one second after the first failure, and doubles after each further failure', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(waitAfter);
    expect(waits).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256]);
  });

  it('never exceeds five minutes', () => {
    expect([10, 11, 64, 2_000, 1_000_000].map(waitAfter)).to.deep.equal([300, 300, 300, 300, 300]);
  });
});
