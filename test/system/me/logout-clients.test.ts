/** Logout tokens for the clients of the tasks, for that of the page, and for one client of both. */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { AUTHORIZE_CLIENT_ID, PAGE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { type Answer, fieldsOf, type Mandate } from '../../support/mandate.ts';
import { type PageWithProvider, personBrowser, startWithPage } from '../../support/me/person-browser.ts';

const AUDIENCE = 'Service:UpstreamIdp:BackchannelLogout:Audience';
const REFUSED = 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut';

for (const database of databasesByLength) {
  describe(`Logout tokens with the page /me on ${database.name}`, function () {
    this.timeout(60_000);
    let page: PageWithProvider;
    before(async () => {
      page = await startWithPage(database, { 'Service:Audit:Aggregation:Enabled': 'false', [REFUSED]: 'false' });
    });
    after(() => page.stop());

    const send = (mandate: Mandate, claims: Readonly<Record<string, unknown>>): Promise<Answer> => {
      // The next sign-in is later: one of the same second would be refused.
      const iat = mandate.clock.seconds() - 5;
      const logout_token = page.provider.signLogoutToken({ sub: 'ada', iat, exp: iat + 120, ...claims });
      return mandate.post('/backchannel-logout', { logout_token });
    };
    /** A task of Ada's, and her session. The result tells what of both is live. */
    const begun = async (mandate: Mandate) => {
      const issued = await (await mandate.agent()).exchange();
      const person = personBrowser(page.mandate);
      expect((await person.signIn()).status).to.equal(302);
      const cookie = person.cookies();
      return async () => ({
        task: (await mandate.introspect(issued)).active,
        session: (await mandate.get('/me/tasks', { cookie })).status === 200,
      });
    };

    for (const [whose, clients, audience, left] of [
      ['the page alone close the session', 'page', 'page', { task: true, session: false }],
      ['the page close the session, beside another client for tasks', 'both', 'page', { task: true, session: false }],
      ['the tasks end the task, beside another client for the page', 'both', 'tasks', { task: false, session: true }],
      ['one client of both end both', 'one', 'page', { task: false, session: false }],
      ['both clients in one token end both', 'both', 'all', { task: false, session: false }],
      ['tasks that people start end the task', 'door', 'door', { task: false, session: true }],
      [
        'the page close the session, beside a client for tasks that people start',
        'door',
        'page',
        { task: true, session: false },
      ],
      ['one client of all tasks end the task', 'one_of_tasks', 'door', { task: false, session: true }],
    ] as const) {
      it(`for ${whose}`, async () => {
        const { clientId } = page.provider;
        const [tasksClient, door] = {
          page: [undefined, undefined],
          both: [clientId, undefined],
          one: [PAGE_CLIENT_ID, undefined],
          door: [undefined, AUTHORIZE_CLIENT_ID],
          one_of_tasks: [AUTHORIZE_CLIENT_ID, AUTHORIZE_CLIENT_ID],
        }[clients];
        const settings = { 'Service:Issuer': page.mandate.issuer, 'Service:Me:ClientId': PAGE_CLIENT_ID };
        const mandate = await page.mandate.another({
          ...settings,
          ...(tasksClient === undefined ? {} : { [AUDIENCE]: tasksClient }),
          ...(door === undefined ? {} : { 'Service:Authorize:ClientId': door }),
        });
        const live = await begun(mandate);
        const all = [clientId, PAGE_CLIENT_ID];
        const aud = { page: PAGE_CLIENT_ID, tasks: clientId, all, door: AUTHORIZE_CLIENT_ID }[audience];
        const records = await mandate.recorded(async () => expect((await send(mandate, { aud })).status).to.equal(200));
        expect(await live()).to.deep.equal(left);
        const signal = ['sponsor.signal', 'sponsor_logged_out'];
        const ends = left.task ? [] : records.slice(1).map(() => ['task.revoked', 'sponsor_logged_out']);
        expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([signal, ...ends]);
        await mandate.stop();
      });
    }

    it('for neither client are refused, with the reason of the first check that fails for its own client', async () => {
      const live = await begun(page.mandate);
      for (const [claims, reason] of [
        [{ aud: page.provider.clientId }, 'logout_audience_mismatch'],
        [{ aud: page.provider.audience }, 'logout_audience_mismatch'],
        [{ aud: PAGE_CLIENT_ID, nonce: 'n' }, 'logout_nonce_present'],
        [{ aud: PAGE_CLIENT_ID.toUpperCase() }, 'logout_audience_mismatch'],
        [{ aud: [] }, 'logout_audience_mismatch'],
        [{ aud: PAGE_CLIENT_ID, sub: undefined }, 'logout_no_subject_or_session'],
        [{ aud: PAGE_CLIENT_ID, sub: 7 }, 'logout_malformed'],
        [{ aud: PAGE_CLIENT_ID, iss: 'https://other.example' }, 'logout_untrusted_issuer'],
        [{ aud: PAGE_CLIENT_ID, jti: undefined }, 'logout_missing_jti'],
        [{ aud: PAGE_CLIENT_ID, events: undefined }, 'logout_not_a_logout_event'],
        [{ aud: PAGE_CLIENT_ID, iat: page.mandate.clock.seconds() - 900 }, 'logout_too_old'],
        [{ aud: PAGE_CLIENT_ID, iat: page.mandate.clock.seconds() + 900 }, 'logout_not_yet_valid'],
        [{ aud: PAGE_CLIENT_ID, exp: page.mandate.clock.seconds() - 100 }, 'logout_expired'],
      ] as const) {
        const records = await page.mandate.recorded(async () =>
          expect((await send(page.mandate, claims)).status).to.equal(400),
        );
        expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([['signal.denied', reason, null]]);
      }
      expect(await live()).to.deep.equal({ task: true, session: true });
    });
  });
}
