/** A service with operators, and two agents. */

import { expect } from 'chai';
import type { FreshDatabase, TestDatabase } from '../../support/databases.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { OPERATORS } from '../../support/operators.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

export async function errorsOf(mandate: Mandate, path: string): Promise<readonly string[]> {
  const { status, body } = await mandate.admin('GET', path);
  expect(status, path).to.equal(400);
  return Object.keys(body.errors as object);
}

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function readService(database: TestDatabase) {
  let fresh: FreshDatabase;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let other: RegisteredAgent;

  before(async () => {
    fresh = await database.fresh();
    mandate = await startMandate({
      database: { ...database, fresh: async () => fresh },
      settings: { ...OPERATORS, ...sharedSigningKey() },
    });
    await mandate.untilReady();
    agent = await mandate.agent({ display_name: 'Triage' });
    other = await mandate.agent();
  });

  after(() => mandate.stop());

  return {
    get fresh() {
      return fresh;
    },
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    get other() {
      return other;
    },
  };
}

export type ReadService = ReturnType<typeof readService>;
