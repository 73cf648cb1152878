/** A service and an agent, for exchanges. */

import type { TestDatabase } from '../../support/databases.ts';

import { type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function serviceOn(database: TestDatabase) {
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    mandate = await startMandate({
      database,
      settings: {
        // Each refusal has its own record.
        'Service:Audit:Aggregation:Enabled': 'false',
        // A hundred requests must reach the decision at once, also on a slow machine.
        'Service:Overload:Enabled': 'false',
      },
    });
  });

  beforeEach(async () => {
    agent = await mandate.agent();
  });

  after(() => mandate.stop());

  return {
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
  };
}

export type Service = ReturnType<typeof serviceOn>;
