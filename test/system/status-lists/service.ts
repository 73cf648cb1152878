/** A service with status lists, and an agent. */

import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import type { TestDatabase } from '../../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

export const TTL = 7;

export const ENTRIES = 1024;

export const ON = {
  'Service:StatusLists:Enabled': 'true',
  'Service:StatusLists:Ttl': `PT${TTL}S`,
  'Service:StatusLists:Entries': String(ENTRIES),
};

export const MEDIA_TYPE = 'application/statuslist+jwt';

export const claimOf = ({ body }: Answer) => getStatusListFromJWT(String(body.access_token));

export const pathOf = (issued: Answer) => new URL(claimOf(issued).uri).pathname;

export const valueAt = (list: Answer, issued: Answer) =>
  getListFromStatusListJWT(list.text).getStatus(claimOf(issued).idx);

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function serviceWithLists(database: TestDatabase) {
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    const settings = { ...sharedSigningKey(), ...ON, 'Service:Tasks:Retention': 'PT1S' };
    mandate = await startMandate({ database, settings });
    agent = await mandate.agent();
  });

  after(() => mandate.stop());

  async function issued(form = {}, of = agent): Promise<Answer> {
    const answer = await of.exchange(form);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  }

  /** The task's status in a list that is made now. */
  async function statusOf(answer: Answer): Promise<number> {
    mandate.clock.advance(TTL);
    const list = await mandate.get(pathOf(answer));
    expect(list.status, list.text).to.equal(200);
    return valueAt(list, answer);
  }

  return {
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    issued,
    statusOf,
  };
}

export type ServiceWithLists = ReturnType<typeof serviceWithLists>;
