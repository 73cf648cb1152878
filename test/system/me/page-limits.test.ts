/** The page at its limits: slow forms, too many requests, no free permit. */

import { expect } from 'chai';
import { formTokenOf } from '../../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../../adapters/http/me/cookies.ts';
import { databasesByLength } from '../../support/databases.ts';
import { holdRevoking } from '../../support/held-permit.ts';
import { fieldsOf, type Mandate } from '../../support/mandate.ts';
import { type PageWithProvider, personBrowser, postOwn, startWithPage } from '../../support/me/person-browser.ts';
import { formPost, rawConnection } from '../../support/raw-http.ts';

const FEW_TURNS = { 'Service:Overload:ConcurrencyLimit': '2', 'Service:Overload:QueueLimit': '0' };
const ONE_TURN = { 'Service:Overload:ConcurrencyLimit': '1', 'Service:Overload:QueueLimit': '0' };
const ONE_A_SECOND = {
  'Service:RateLimit:Enabled': 'true',
  'Service:RateLimit:PermitsPerMinute': '60',
  'Service:RateLimit:Burst': '1',
};
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

    it('a browser over the rate gets the page with 429, recorded as me.denied', async () => {
      const { mandate } = running;
      const limited = await mandate.another(ONE_A_SECOND);
      limited.clock.standStill();
      const records = await mandate.recorded(async () => {
        let answer = await limited.get('/me', { ...BROWSER, cookie });
        for (let sent = 0; answer.status !== 429 && sent < 5; sent += 1) answer = await limited.get('/me', BROWSER);
        expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([429, 'text/html; charset=utf-8']);
        expect(answer.text).to.contain('<h1>Too many requests</h1>');
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['me.denied', 'deny', 'rate_limited', null],
      ]);
      await limited.stop();
    });

    describe('while the one permit of stops is taken', () => {
      let narrow: Mandate;
      before(async () => {
        narrow = await running.mandate.another(ONE_TURN);
      });
      after(() => narrow.stop());

      it('a browser gets the page with 503, recorded as me.denied; a sign-out needs another permit', async () => {
        const release = await holdRevoking(narrow);
        const records = await running.mandate.recorded(async () => {
          const answer = await narrow.get('/me', { ...BROWSER, cookie });
          expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([503, 'text/html; charset=utf-8']);
          expect(answer.text).to.contain('<h1>The service is busy</h1>');
          expect((await postOwn(narrow, '/me/sign-out', '', {})).status).to.equal(200);
        });
        await release();
        expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
          ['me.denied', 'deny', 'overloaded', null],
        ]);
      });
    });
  });
}
