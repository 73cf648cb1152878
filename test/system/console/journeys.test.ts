/** Operators of a separate identity provider, against the running service. */

import { expect } from 'chai';
import {
  type ConsoleWithProvider,
  operators,
  signedInOperator,
  startWithConsole,
} from '../../support/console/operators-browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import { fieldsOf } from '../../support/mandate.ts';

for (const database of databasesByLength) {
  describe(`Operators of another provider on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    before(async () => {
      running = await startWithConsole(database, {}, { hasOwnProvider: true });
    });
    after(() => running.stop());

    it("sign in there, and the provider's logout ends their sessions and no task", async () => {
      const { mandate, operatorsProvider } = running;
      const agent = await mandate.agent();
      const grant = await agent.grant();
      const { get } = await signedInOperator(running, operators.viewer);
      expect((await get('/')).status).to.equal(200);
      const token = operatorsProvider.signLogoutToken({ aud: 'mandate-console', sub: 'vera', sid: undefined });
      const records = await mandate.recorded(async () => {
        expect((await mandate.post('/backchannel-logout', { logout_token: token })).status).to.equal(200);
      });
      expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out', null],
        ['operator.signed_out', null, null],
      ]);
      const detail = new URLSearchParams({ iss: operatorsProvider.issuer, sub: 'vera', role: 'viewer' });
      expect(records[1]?.detail).to.equal(detail.toString());
      expect((await get('/')).headers.get('location')).to.equal('/sign-in');
      expect((await agent.refresh(grant)).status).to.equal(200);
    });
  });
}
