import { expect } from 'chai';
import * as limits from '../../../../adapters/storage/postgres/limits.ts';

describe('the time limits of calls to Postgres', () => {
  for (const [name, { lock, statement, query }] of Object.entries({
    SERVING: limits.SERVING_LIMITS,
    REVOKING: limits.REVOKING_LIMITS,
    DRAINING: limits.DRAINING_LIMITS,
    READINESS: limits.READINESS_LIMITS,
    AUDITING: limits.AUDITING_LIMITS,
  })) {
    it(`rise for ${name} from lock to statement to query, so that Postgres refuses before the client stops waiting`, () => {
      expect([lock, statement, query]).to.deep.equal([lock, statement, query].toSorted((one, other) => one - other));
      expect(new Set([lock, statement, query]).size).to.equal(3);
    });
  }

  it('add up to less than a minute for a decision that ends tasks, because proxies commonly wait that long', () => {
    const { acquire, query } = limits.REVOKING_LIMITS;
    // A decision waits for a permit, and then for a connection.
    expect(2 * acquire + limits.ENDING_LIMIT_MS + query).to.be.below(60_000);
  });
});
