import { expect } from 'chai';
import { plusSeconds } from '../../../domain/instant.ts';
import { worksUntil } from '../../../domain/tasks/works-until.ts';
import { NOON } from '../../support/domain-fixtures.ts';

describe('What tool servers that ask nobody still accept', () => {
  it('ends with the last token that could be issued now, and never after the last task', () => {
    const lastExpiry = plusSeconds(NOON, 600);
    expect(worksUntil({ lastExpiry, longestTokenTtl: 300 }, NOON)).to.equal(plusSeconds(NOON, 300));
    expect(worksUntil({ lastExpiry, longestTokenTtl: 900 }, NOON)).to.equal(lastExpiry);
    expect(worksUntil({ lastExpiry, longestTokenTtl: undefined }, NOON)).to.equal(lastExpiry);
    expect(worksUntil({ lastExpiry: undefined, longestTokenTtl: undefined }, NOON)).to.equal(undefined);
  });
});
