/** The forms of the page hold no permit while they are slow. test/adapters/http/me/page/refused-pages.test.ts has its refusals. */

import { expect } from 'chai';
import { formTokenOf } from '../../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../../adapters/http/me/cookies.ts';
import { databasesByLength } from '../../support/databases.ts';
import { fieldsOf } from '../../support/mandate.ts';
import { type PageWithProvider, personBrowser, startWithPage } from '../../support/me/person-browser.ts';
import { formPost, rawConnection } from '../../support/raw-http.ts';

const FEW_TURNS = { 'Service:Overload:ConcurrencyLimit': '2', 'Service:Overload:QueueLimit': '0' };
const BROWSER = { accept: 'text/html' };
const FORMS = [
  'tasks/stop',
  'agents/stop',
  'pause',
  'resume',
  'sign-out',
  'tasks/task_01M31S7W68TMK7WDX8YKPSYTE0/stop',
];

for (const database of databasesByLength) {
  describe(`The limits of the person's page on ${database.name}`, function () {
    this.timeout(60_000);
    let running: PageWithProvider;
    let cookie: string;
    before(async () => {
      const timeLimits = { headMs: 4000, requestMs: 4000, idleMs: 30_000, checkMs: 50 };
      running = await startWithPage(
        database,
        { ...FEW_TURNS, 'Service:Audit:Aggregation:Enabled': 'false' },
        { timeLimits },
      );
      const person = personBrowser(running.mandate);
      expect((await person.signIn()).status).to.equal(302);
      cookie = person.cookies();
    });
    after(() => running.stop());

    it('slow forms hold no permit: two permits serve stops meanwhile, and each form gets 408 and changes nothing', async () => {
      const { mandate } = running;
      const agent = await mandate.agent();
      const issued = await agent.exchange();
      const form_token = formTokenOf(meCookies.sessionSecret(cookie) ?? '');
      const records = await mandate.recorded(async () => {
        const slow = await Promise.all(
          FORMS.map(async (path) => {
            const connection = await rawConnection(mandate.url);
            const own = `Accept: text/html\r\nOrigin: ${mandate.issuer}\r\nCookie: ${cookie}\r\n`;
            const text = formPost(`/me/${path}`, `form_token=${form_token}`, 20);
            connection.send(text.replace('Host: ', `${own}Host: `));
            return connection;
          }),
        );
        const byPage = await mandate.send(`/me/tasks/${issued.body.task_id}/stop`, {
          method: 'POST',
          headers: { ...BROWSER, cookie, origin: mandate.issuer, 'content-type': 'application/x-www-form-urlencoded' },
          body: `form_token=${form_token}`,
        });
        expect(byPage.status, byPage.text).to.equal(303);
        expect((await mandate.admin('DELETE', '/admin/sponsors/ada/tasks')).status).to.equal(200);
        for (const connection of slow) {
          expect(await connection.until('\r\n\r\n')).to.match(/^HTTP\/1\.1 408 /);
          connection.leave();
        }
      });
      expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.equal([
        ['task.revoked', 'sponsor_stopped', issued.body.task_id],
      ]);
      expect((await mandate.get('/me/tasks', { cookie })).status).to.equal(200);
    });
  });
}
