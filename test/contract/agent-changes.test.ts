/** Several callers change one agent concurrently through the use case, with its real pause before a retry. */

import { expect } from 'chai';
import { retryPause } from '../../adapters/platform/system-clock.ts';
import { LIMITS } from '../../adapters/storage/postgres/limits.ts';
import { updateAgent } from '../../application/admin/update-agent.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import { databases } from '../support/databases.ts';
import { movedClock } from '../support/moved-clock.ts';
import { RULES } from '../support/registrations.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { ledgerOf, registeredAgent } from './storage-fixtures.ts';

const CALLERS = 8;
const CHANGES_EACH = 30;
/** The average number of attempts was about 1.2 with the pause; on Postgres more than six without it. */
const MOST_ATTEMPTS_PER_CHANGE = 3;

onEveryDatabase(
  'concurrent changes of one agent',
  ({ database }) => {
    it('are all stored, each with its record, with few retries', async () => {
      const storage = await database().open({ limits: LIMITS });
      const { agentId } = await registeredAgent(storage);
      let attempts = 0;
      const decisions: Decisions = {
        decide(decision, input) {
          attempts += 1;
          return storage.decide(decision, input);
        },
      };
      const service = {
        decisions,
        agents: storage.agents,
        retryPause,
        clock: movedClock(),
        rules: RULES,
        agentKeys: { isUsable: async () => true },
      };
      const callers = Array.from({ length: CALLERS }, async (_, caller) => {
        for (let change = 1; change <= CHANGES_EACH; change += 1) {
          const outcome = await updateAgent(service, agentId, { displayName: `Change ${change} of ${caller}` });
          expect(outcome.kind).to.equal('updated');
        }
      });
      await Promise.all(callers);

      const changes = CALLERS * CHANGES_EACH;
      expect((await storage.agents.find(agentId))?.revision).to.equal(1 + changes);
      const records = (await ledgerOf(storage)).filter((record) => record.event === 'agent.updated');
      expect(records).to.have.lengthOf(changes);
      expect(new Set(records.map(({ reason }) => reason))).to.deep.equal(new Set(['changed:display_name']));
      expect(attempts).to.be.at.most(changes * MOST_ATTEMPTS_PER_CHANGE);
      await storage.close();
    });
  },
  databases,
);
