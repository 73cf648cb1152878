/** Ten thousand offers of one task: none is stored or takes a place, each has its record, and the task goes on. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { startMandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const OFFERS = 10_000;
const AT_ONCE = 20;
/** One live child leaves no place for another. */
const SETTINGS = {
  'Service:Delegation:Enabled': 'true',
  'Service:Delegation:MaxChildrenPerTask': '1',
  'Service:Overload:Enabled': 'false',
};

for (const database of databases) {
  describe(`Ten thousand offers of one task on ${database.name}`, function () {
    this.timeout(300_000);

    it('take no place and leave no task; one is taken up, and then no other', async () => {
      const mandate = await startMandate({ database, settings: { ...sharedSigningKey(), ...SETTINGS } });
      try {
        const at = delegationAt(mandate);
        const lead = await mandate.agent({ max_delegation_depth: 2 });
        const root = await mandate.agent({ max_delegation_depth: 2, delegates_to: [lead.id] });
        const { grant, taskId } = heldTask(await root.exchange());
        const offers: string[] = [];
        while (offers.length < OFFERS) {
          offers.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => at.offer(root, lead, grant)))));
        }
        expect(new Set(offers.map((offer) => decodeJwt(offer).jti))).to.have.property('size', OFFERS);
        const count = async (what: string) => Number((await mandate.sql(`select count(*) as n from ${what}`))[0]?.n);
        expect(await count(`ledger where event = 'delegation.offered' and task_id = '${taskId}'`)).to.equal(OFFERS);
        expect(await count('tasks')).to.equal(1);
        heldTask(await at.take(lead, offers.at(-1) ?? ''));
        expect((await at.take(lead, offers.at(-2) ?? '')).body).to.include({ reason: 'too_many_children' });
        expect((await root.refresh(grant)).status).to.equal(200);
      } finally {
        await mandate.stop();
      }
    });
  });
}
