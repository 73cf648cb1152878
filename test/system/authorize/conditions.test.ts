/** What settings add to the way of a person at `/oauth2/authorize`. */

import { expect } from 'chai';
import {
  authorizationRequest,
  type DoorPerson,
  doorPerson,
  linkBack,
  publicAgent,
  STATE,
  startDoor,
  titleOf,
  toldClient,
} from '../../support/authorize/door.ts';
import { databasesByLength } from '../../support/databases.ts';
import { APPLICATION_CLIENT_ID } from '../../support/identity-provider/identity-provider.ts';
import type { Oddities } from '../../support/identity-provider/oddities.ts';
import { ada, grace } from '../../support/identity-provider/people.ts';
import { passThePages } from '../../support/identity-provider/sign-in.ts';
import { answering } from '../../support/loopback.ts';
import { type Answer, fieldsOf, type Mandate } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';

const ACTIVE = answering({ enabled: true });
const LOGOUT = 'Service:UpstreamIdp:BackchannelLogout';

for (const database of databasesByLength) {
  describe(`The conditions of settings at /oauth2/authorize on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agentId: string;
    let directory: UserDirectory;
    before(async () => {
      directory = await startUserDirectory(ACTIVE);
      const settings = {
        'Service:Audit:Aggregation:Enabled': 'false',
        'Service:Authorize:MaxAuthAge': 'PT5M',
        'Service:Tasks:Purpose': 'require',
        'Service:UpstreamIdp:MayAct': 'require',
        [`${LOGOUT}:Audience`]: APPLICATION_CLIENT_ID,
        [`${LOGOUT}:RefuseLoggedOut`]: 'true',
        ...directory.settings,
      };
      running = await startDoor(database, settings, { odd: {} });
      mandate = running.mandate;
      agentId = await publicAgent(mandate);
    });
    after(async () => {
      await running.stop();
      await directory.server.close();
    });
    afterEach(() => {
      running.provider.misbehave({});
      directory.answer = ACTIVE;
    });

    const asked = () => authorizationRequest(agentId, { purpose: 'Close old tickets' });
    const recordsOf = async (act: () => Promise<Answer>) => {
      const done: Answer[] = [];
      const lines = await mandate.recorded(async () => {
        done.push(await act());
      });
      const [answer] = done;
      if (answer === undefined) throw new Error('there was no answer');
      return { answer, records: fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor') };
    };
    const denied = (reason: string, ...about: readonly unknown[]) => [
      ['authorization.denied', 'deny', reason, ...(about.length > 0 ? about : [null, null])],
    ];
    const expectEnd = (answer: Answer, status: number, error: string) => {
      expect(answer.status, titleOf(answer)).to.equal(status);
      const told = Object.fromEntries(linkBack(answer)?.searchParams ?? []);
      expect(told).to.include({ error, state: STATE, iss: mandate.issuer });
    };
    const isPage = (answer: Answer) => expect(answer.headers.get('location'), titleOf(answer)).to.contain('/areq_');
    const back = (person: DoorPerson, { pathname, search }: URL) => person.open(`${pathname}${search}`);

    it('takes one more sign-in with MaxAuthAge, and ends if that one is undated or too old as well', async () => {
      for (const [authTime, reason] of [
        ['absent', 'sign_in_undated'],
        [0, 'sign_in_too_old'],
      ] as const) {
        running.provider.misbehave({ authTime });
        const person = doorPerson(mandate);
        const again = await recordsOf(async () => back(person, await person.signIn(asked())));
        const address = new URL(again.answer.headers.get('location') ?? '');
        expect([again.answer.status, address.searchParams.get('prompt'), again.records]).to.deep.equal([
          303,
          'login',
          [],
        ]);
        const callback = `${mandate.issuer}/oauth2/authorize/callback`;
        const second = await passThePages(person.browser, address, ada, callback);
        const { answer, records } = await recordsOf(() => back(person, second));
        expectEnd(answer, 403, 'access_denied');
        expect(records).to.deep.equal(denied(reason));
      }
      running.provider.misbehave({});
      isPage(await doorPerson(mandate).comeBack(asked()));
    });

    it('asks the person for a purpose where tasks must have one, and takes no answer without it', async () => {
      const question = await doorPerson(mandate).question(authorizationRequest(agentId));
      expect(question.page.text).to.match(/<input type="text" id="purpose" name="purpose"[^>]* required/);
      for (const purpose of [undefined, '', ' \u00a0']) {
        const { answer, records } = await recordsOf(() =>
          question.answer('allow', { purpose, scope: 'jira:comment', lasts: '900' }),
        );
        expect([answer.status, titleOf(answer), records]).to.deep.equal([400, 'May Ticket program act for you?', []]);
        expect(answer.text.match(/value="[^"]+" (?:checked|selected)/g)).to.deep.equal([
          'value="jira:comment" checked',
          'value="900" selected',
        ]);
      }
      const { answer, records } = await recordsOf(() => question.answer('allow', { purpose: 'Sort the tickets' }));
      expect(toldClient(answer)).to.have.property('code');
      expect(records).to.deep.equal([['authorization.allowed', 'allow', null, agentId, ada.username]]);
      // A client that states one asks the person for none.
      const stated = await doorPerson(mandate).question(asked());
      expect(stated.page.text).to.contain('Close old tickets').and.not.contain('name="purpose"');
    });

    it('heeds may_act: one that names another agent refuses, and Allow stands for a missing one', async () => {
      const comeWith = (accessClaims: Oddities['accessClaims'] & object) => {
        running.provider.misbehave({ accessClaims });
        return doorPerson(mandate).comeBack(asked());
      };
      isPage(await comeWith({}));
      isPage(await comeWith({ may_act: { sub: `agent:${agentId}` } }));
      const other = await recordsOf(() => comeWith({ may_act: { sub: 'agent:another' } }));
      expectEnd(other.answer, 403, 'access_denied');
      expect(other.records).to.deep.equal(denied('actor_not_named', agentId, ada.username));
      const wrong = await recordsOf(() => comeWith({ may_act: 'anybody' }));
      expectEnd(wrong.answer, 403, 'server_error');
      expect(wrong.records).to.deep.equal(denied('subject_malformed', agentId, ada.username));
    });

    it('refuses an access token from before a logout where the setting says so', async () => {
      const logout_token = running.provider.signLogoutToken({ sub: grace.username });
      expect((await mandate.post('/backchannel-logout', { logout_token })).status).to.equal(200);
      running.provider.misbehave({ accessClaims: { iat: mandate.clock.seconds() - 100 } });
      const { answer, records } = await recordsOf(() => doorPerson(mandate, grace).comeBack(asked()));
      expectEnd(answer, 403, 'access_denied');
      expect(records).to.deep.equal(denied('subject_logged_out', agentId, grace.username));
      isPage(await doorPerson(mandate).comeBack(asked()));
    });

    it('asks the provider about the person, as an exchange does', async () => {
      for (const [given, status, error, reason] of [
        [answering({ enabled: false }), 403, 'access_denied', 'sponsor_disabled'],
        [answering({}, 404), 403, 'access_denied', 'sponsor_not_found'],
        [answering({}, 500), 503, 'temporarily_unavailable', 'sponsor_status_unavailable'],
      ] as const) {
        directory.answer = given;
        const { answer, records } = await recordsOf(() => doorPerson(mandate).comeBack(asked()));
        expectEnd(answer, status, error);
        expect(records).to.deep.equal(denied(reason, agentId, ada.username));
      }
      directory.answer = answering({ enabled: true });
      isPage(await doorPerson(mandate).comeBack(asked()));
    });
  });
}
