/** Offers and `mandate after-restore`: an offer that was taken up in the lost part of the database is not taken up again. */

import { expect } from 'chai';
import { backup } from '../../support/backup.ts';
import { runMandate } from '../../support/cli-run.ts';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { fieldsOf, startMandate, withService } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

for (const database of databasesByLength) {
  describe(`Offers and mandate after-restore on ${database.name}`, function () {
    this.timeout(60_000);

    it('let no offer be taken up that may have been taken up since the backup, and a new one begins a task', async () => {
      const fresh = await database.fresh();
      const kept = { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) };
      // The command has the clock of this machine.
      const clock = movedClock();
      const delegation = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:OfferTtl': 'PT5M' };
      const settings = { ...sharedSigningKey(), ...delegation };
      const start = () => startMandate({ database: kept, settings, clock, databaseClock: clock });

      const before = await withService(start(), async (mandate) => {
        const lead = await mandate.agent({ max_delegation_depth: 2 });
        const root = await mandate.agent({ max_delegation_depth: 2, delegates_to: [lead.id] });
        const { grant } = heldTask(await root.exchange());
        return { lead, root, grant, offer: await delegationAt(mandate).offer(root, lead, grant) };
      });
      const { lead, root, grant, offer } = before;
      const restore = await backup(fresh);
      const taken = await withService(start(), async (mandate) =>
        heldTask(await delegationAt(mandate).take(lead, offer)),
      );
      await restore();
      const { code, err } = await runMandate(['after-restore'], fresh.settings);
      expect({ code, err }).to.deep.equal({ code: 0, err: '' });

      await withService(start(), async (mandate) => {
        const there = delegationAt(mandate);
        // Until then assertions count as used too.
        clock.advance(70);
        const lines = await mandate.recorded(async () => {
          const { status, body } = await there.take(lead, offer);
          expect([status, body.error]).to.deep.equal([400, 'invalid_grant']);
        });
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id')).to.deep.equal([
          ['token.denied', 'delegation_offer_spent', lead.id],
        ]);
        expect(await mandate.introspect(taken.token), 'its task was lost').to.deep.equal({ active: false });
        const again = heldTask(await there.take(lead, await there.offer(root, lead, grant)));
        expect(again.taskId).not.to.equal(taken.taskId);
      });
      await fresh.drop();
    });
  });
}
