import { expect } from 'chai';
import { judgeClock } from '../../../application/doctor/judge-clock.ts';

describe('a clock beside ours', () => {
  for (const [ahead, status] of [
    [0, 'ok'],
    [5, 'ok'],
    [-5, 'ok'],
    [6, 'warning'],
    [-60, 'warning'],
    [61, 'failed'],
    [-61, 'failed'],
  ] as const) {
    it(`that is ${ahead} seconds ahead is ${status}`, () => {
      expect(judgeClock("The database's clock", ahead).status).to.equal(status);
    });
  }

  it('is said to be ahead or behind by name', () => {
    expect(judgeClock("The provider's clock", 7.4).sentence).to.equal(
      "The provider's clock is 7 seconds ahead of this machine's.",
    );
    expect(judgeClock("The provider's clock", -90).sentence).to.match(
      /^The provider's clock is 90 seconds behind this machine's\. That is more/,
    );
  });
});
