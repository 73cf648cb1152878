/** Glewlwyd, a provider that others wrote: agents, logouts, the page `/me`, the console, poll and doctor. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { formTokenOf } from '../../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../../adapters/http/me/cookies.ts';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { explainToken } from '../../../composition/commands/doctor.ts';
import { examineEverything } from '../../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { browse, closeBrowser, devices } from '../../support/browser.ts';
import { operators, signedInOperator } from '../../support/console/operators-browser.ts';
import { sqliteFile } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { glewlwydIsInstalled, glewlwydScript } from '../../support/identity-provider/glewlwyd.ts';
import { passGlewlwyd } from '../../support/identity-provider/glewlwyd-sign-in.ts';
import { ada, edsger, grace } from '../../support/identity-provider/people.ts';
import { AUTHORIZE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import {
  PORTAL,
  SCIM_TOKEN,
  SERVICE_CLIENT,
  startWithGlewlwyd,
  type WithGlewlwyd,
} from '../../support/identity-provider/with-glewlwyd.ts';
import { answering } from '../../support/loopback.ts';
import { environmentOf, fieldsOf, type Mandate, type RegisteredAgent, withService } from '../../support/mandate.ts';
import { personBrowser } from '../../support/me/person-browser.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';

const END_TASKS_WITHOUT_SESSION = 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession';
const ASSERTION_AUDIENCE = 'Service:UpstreamIdp:ClientAssertionAudience';
const NO_CONSOLE = { 'Service:Console:Port': '', 'Service:Console:Origin': '', 'Service:Operators:ClientId': '' };

describe('With Glewlwyd', function () {
  this.timeout(60_000);
  if (!glewlwydIsInstalled()) {
    it("is skipped: Debian's package glewlwyd is not installed", function () {
      this.skip();
    });
    return;
  }
  let running: WithGlewlwyd;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  before(async () => {
    running = await startWithGlewlwyd(sqliteFile);
    mandate = running.mandate;
    agent = await mandate.agent({ display_name: 'Jira triage' });
  });
  after(async () => {
    await closeBrowser();
    await running?.stop();
  });

  const subjectOf = (token: string): string => String(decodeJwt(token).sub);
  const exchange = (subject_token: string, at = mandate) =>
    at.post('/oauth2/token', agent.exchangeForm({ subject_token }));
  /** A person who signed in, and a task of theirs. */
  async function begun(person = ada) {
    const at = await running.signIn(person);
    const issued = await exchange(at.accessToken);
    expect(issued.status, issued.text).to.equal(200);
    return { ...at, issued, isLive: async () => (await mandate.introspect(issued)).active };
  }

  describe('an agent', () => {
    it('gets the scopes that both have, renews, and is introspected', async () => {
      const { accessToken, issued, isLive } = await begun(grace);
      // Grace has no jira:comment.
      expect(issued.body.scope).to.equal('jira:read');
      const refreshed = await agent.refresh(String(issued.body.refresh_token));
      expect(refreshed.status, refreshed.text).to.equal(200);
      expect(await mandate.introspect(refreshed)).to.include({ active: true, sub: subjectOf(accessToken) });
      expect((await agent.revoke(String(issued.body.refresh_token))).status).to.equal(200);
      expect(await isLive()).to.equal(false);
    });

    it('gets nothing for a person without its scopes, and nothing for an application alone', async () => {
      const [{ accessToken }, machine] = [await running.signIn(edsger), await running.machineToken()];
      for (const [token, error, reason] of [
        [accessToken, 'invalid_scope', 'scope_intersection_empty'],
        [machine, 'invalid_grant', 'subject_not_a_person'],
      ] as const) {
        const records = await mandate.recorded(async () => expect((await exchange(token)).body.error).to.equal(error));
        expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([['token.denied', 'deny', reason]]);
      }
    });

    it('gets no scope that Glewlwyd does not know, whatever the application requests', async () => {
      const { accessToken } = await running.signIn(ada, 'jira:read nothing:here');
      expect(decodeJwt(accessToken).scope).to.equal('openid jira:read');
    });

    it('is stopped by two requests of a script that disables a person', async () => {
      const [gone, other] = [await begun(), await begun(grace)];
      const scim = (method: string, path: string, body: unknown) =>
        mandate.send(`/scim/v2/Users${path}`, {
          method,
          headers: { authorization: `Bearer ${SCIM_TOKEN}`, 'content-type': 'application/scim+json' },
          body: JSON.stringify(body),
        });
      const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
      const { body: user } = await scim('POST', '', { schemas, userName: ada.username, active: true });
      const patch = (value: boolean) =>
        scim('PATCH', `/${user.id}`, {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', path: 'active', value }],
        });
      try {
        const records = await mandate.recorded(() => patch(false));
        expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.include.members([
          ['task.revoked', 'scim_deactivated', gone.issued.body.task_id],
        ]);
        expect([await gone.isLive(), await other.isLive()]).to.deep.equal([false, true]);
        expect((await exchange(gone.accessToken)).body.reason).to.equal('sponsor_disabled');
      } finally {
        await patch(true);
      }
      expect((await exchange(gone.accessToken)).status).to.equal(200);
    });

    it('is served while the keys change, whether the former key stays published or not', async () => {
      for (const keepFormer of [true, false]) {
        await running.glewlwyd.rotateKeys({ keepFormer });
        const { isLive } = await begun();
        expect(await isLive()).to.equal(true);
      }
    });
  });

  describe('a logout', () => {
    const signals = async () => (await mandate.ledger()).filter(({ event }) => event === 'sponsor.signal').length;
    const signedOut = (signOut: () => Promise<unknown>) =>
      mandate.recorded(async () => {
        const before = await signals();
        await signOut();
        await eventually(async () => (await signals()) > before, 20);
      });

    it('that names the person alone ends their tasks, and no others', async () => {
      const subject_token = (await running.glewlwyd.runScript('token.sh')).trim();
      const [gone, other] = [await exchange(subject_token), await begun(grace)];
      expect(gone.status, gone.text).to.equal(200);
      const records = await signedOut(() => running.glewlwyd.runScript('token.sh', 'sign-out'));
      expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.include.members([
        ['sponsor.signal', 'sponsor_logged_out', null],
        ['task.revoked', 'sponsor_logged_out', gone.body.task_id],
      ]);
      expect((await mandate.introspect(gone)).active).to.equal(false);
      expect(await other.isLive()).to.equal(true);
    });

    it('that also names the session ends no task, because access tokens name no session', async () => {
      await running.glewlwyd.changeClient(PORTAL, { backchannel_logout_session_required: '1' });
      const { accessToken, idToken, signOut, isLive } = await begun();
      expect([decodeJwt(accessToken).sid, typeof decodeJwt(idToken).sid]).to.deep.equal([undefined, 'string']);
      const records = await signedOut(signOut);
      expect(fieldsOf(records, 'event', 'decision', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'allow', subjectOf(accessToken)],
      ]);
      expect(await isLive()).to.equal(true);
      await running.glewlwyd.changeClient(PORTAL, { backchannel_logout_session_required: '0' });
    });

    it('that names the session too ends the tasks of the person with EndTasksWithoutSession', async () => {
      await withService(mandate.another({ ...NO_CONSOLE, [END_TASKS_WITHOUT_SESSION]: 'true' }), async (ending) => {
        const registered = { backchannel_logout_uri: `${mandate.issuer}/backchannel-logout` };
        await running.glewlwyd.changeClient(PORTAL, {
          backchannel_logout_uri: `${ending.url}/backchannel-logout`,
          backchannel_logout_session_required: '1',
        });
        const [{ issued, signOut, isLive }, other] = [await begun(), await begun(grace)];
        const records = await signedOut(signOut);
        expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.include.members([
          ['sponsor.signal', 'sponsor_logged_out', null],
          ['task.revoked', 'sponsor_logged_out', issued.body.task_id],
        ]);
        expect([await isLive(), await other.isLive()]).to.deep.equal([false, true]);
        await running.glewlwyd.changeClient(PORTAL, { ...registered, backchannel_logout_session_required: '0' });
      });
    });
  });

  describe('the sign-in', () => {
    /** The page `/me` of Ada, who signed in on Glewlwyd's pages. */
    async function signedInPage() {
      const page = await (await browse(devices.desktop)).newPage();
      await page.goto(`${mandate.issuer}/me`);
      await page.getByLabel('Login').fill(ada.username);
      await page.getByLabel('Password').fill(ada.password);
      await page.getByRole('button', { name: 'OK' }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${mandate.issuer}/me`);
      return page;
    }

    it('of a person at /me, on its own pages in a browser, shows and stops their task', async () => {
      const { isLive } = await begun();
      const page = await signedInPage();
      await page.getByText('Jira triage').first().waitFor();
      await page.locator('summary', { hasText: 'Stop everything' }).click();
      await page.getByRole('button', { name: 'Stop all my tasks' }).click();
      await page.getByText(/tasks? stopped\./).waitFor();
      expect(await isLive()).to.equal(false);
      await page.context().close();
    });

    it('has an auth_time of 0, so neither the page nor its address pauses agents', async () => {
      const page = await signedInPage();
      await page.getByText('You cannot pause agents here.').waitFor();
      expect(await page.getByText('Pause agents', { exact: true }).count()).to.equal(0);
      await page.context().close();
      const person = personBrowser(mandate, ada, passGlewlwyd);
      await person.signIn();
      const cookie = person.cookies();
      const token = formTokenOf(meCookies.sessionSecret(cookie) ?? '');
      const headers = { cookie, origin: mandate.issuer, 'mandate-form-token': token };
      const records = await mandate.recorded(async () => {
        const { status, body } = await mandate.send('/me/pause', { method: 'PUT', headers });
        expect([status, body.error]).to.deep.equal([409, 'pause_not_liftable']);
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
        ['me.denied', 'deny', 'pause_not_liftable'],
      ]);
    });

    it('is asked for again after Sign out everywhere and the button of Glewlwyd', async () => {
      const page = await signedInPage();
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.getByText(`Then you will be redirected to: ${mandate.issuer}/me/signed-out`).waitFor();
      await page.getByRole('button', { name: 'Logout' }).click();
      // Its page shows the way back, and does not take it.
      await page.getByText('You are disconnected').waitFor();
      await page.goto(`${mandate.issuer}/me`);
      await page.getByLabel('Password').waitFor();
      await page.context().close();
    });

    it('of an operator at the console has the roles of the ID token', async () => {
      const { origin } = running;
      const { signedIn, get } = await signedInOperator({ origin }, operators.viewer, passGlewlwyd);
      expect([signedIn.status, signedIn.headers.get('location')], signedIn.text).to.deep.equal([302, '/']);
      expect((await get('/')).status).to.equal(200);
      const other = await signedInOperator({ origin }, operators.none, passGlewlwyd);
      expect(other.signedIn.status).to.equal(403);
    });

    it('ends at /me by its logout, which names the session', async () => {
      const person = personBrowser(mandate, ada, passGlewlwyd);
      expect((await person.signIn()).headers.get('location')).to.equal('/me');
      const isSignedIn = async () => (await mandate.get('/me/tasks', { cookie: person.cookies() })).status === 200;
      expect(await isSignedIn()).to.equal(true);
      await running.signOut(person.browser);
      await eventually(async () => !(await isSignedIn()), 20);
    });

    it('is refused if the assertion is for the issuer', async () => {
      await withService(mandate.another({ ...NO_CONSOLE, [ASSERTION_AUDIENCE]: 'issuer' }), async (other) => {
        const person = personBrowser(other, ada, passGlewlwyd);
        expect((await person.signIn()).headers.get('location')).to.equal(null);
        expect((await other.get('/me/tasks', { cookie: person.cookies() })).status).to.equal(401);
      });
    });
  });

  describe('poll', () => {
    let directory: UserDirectory;
    before(async () => {
      const keys = createRemoteJWKSet(new URL(`${running.glewlwyd.issuer}/jwks`));
      const allows = async (authorization: unknown): Promise<boolean> => {
        const token = String(authorization).replace('Bearer ', '');
        const { payload } = await jwtVerify(token, keys, { issuer: running.glewlwyd.issuer });
        return payload.client_id === SERVICE_CLIENT && payload.scope === 'users:read';
      };
      directory = await startUserDirectory((request, response) => {
        void allows(request.headers.authorization).then((isAllowed) =>
          answering({ enabled: isAllowed })(request, response),
        );
      });
    });
    after(() => directory.server.close());
    const withToken = (changes: Readonly<Record<string, string>> = {}) => ({
      ...directory.settings,
      'Service:UpstreamIdp:SponsorCheck:TokenUrl': running.glewlwyd.tokenUrl,
      'Service:UpstreamIdp:SponsorCheck:ClientId': SERVICE_CLIENT,
      'Service:UpstreamIdp:SponsorCheck:Scope': 'users:read',
      ...changes,
    });
    const sponsorCheck = async (changes: Readonly<Record<string, string>>) =>
      (await examine(changes)).find(({ check }) => check === 'sponsor check');

    it('asks the users service of the example, and refuses a person who is disabled there', async () => {
      const [port, bearer] = [await freePort(), 'the-bearer-token-of-the-users-service'];
      const env = { ...process.env, GLEWLWYD_DATABASE: running.glewlwyd.database, USERS_BEARER_TOKEN: bearer };
      const users = spawn(process.execPath, [glewlwydScript('users.mjs')], { env: { ...env, USERS_PORT: `${port}` } });
      const settings = {
        'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
        'Service:UpstreamIdp:SponsorCheck:UsersUrl': `http://127.0.0.1:${port}/users`,
        'Service:UpstreamIdp:SponsorCheck:BearerToken': bearer,
      };
      try {
        await eventually(async () => (await sponsorCheck(settings))?.status === 'ok', 50);
        await withService(mandate.another({ ...NO_CONSOLE, ...settings }), async (service) => {
          const [adas, graces] = [await running.signIn(ada), await running.signIn(grace)];
          await running.glewlwyd.setEnabled(grace, false);
          expect((await exchange(adas.accessToken, service)).status).to.equal(200);
          const records = await mandate.recorded(async () => {
            const { body } = await exchange(graces.accessToken, service);
            expect(body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
          });
          expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['token.denied', 'sponsor_disabled']]);
          await running.glewlwyd.setEnabled(grace, true);
        });
      } finally {
        users.kill();
        await once(users, 'exit');
      }
    });

    it('asks with a token for the scope that is set', async () => {
      await withService(mandate.another({ ...NO_CONSOLE, ...withToken() }), async (service) => {
        expect((await exchange((await running.signIn(ada)).accessToken, service)).status).to.equal(200);
      });
    });

    it('gets no token without a scope, or for the issuer, and doctor says what helps', async () => {
      for (const changes of [{ 'Service:UpstreamIdp:SponsorCheck:Scope': '' }, { [ASSERTION_AUDIENCE]: 'issuer' }]) {
        const finding = await sponsorCheck(withToken(changes));
        expect(finding?.status).to.equal('failed');
        expect(finding?.remedy).to.include('SponsorCheck:Scope').and.include('UpstreamIdp:ClientAssertionAudience');
      }
    });
  });

  async function examine(changes: Readonly<Record<string, string>> = {}): Promise<readonly NamedFinding[]> {
    const environment = environmentOf({ ...running.settings, ...changes });
    return examineEverything(doctorSettings({ environment, overrides: [] }), movedClock());
  }

  describe('doctor', () => {
    it('reports no failure', async () => {
      const findings = await examine({ 'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID });
      expect(findings.filter(({ status }) => status === 'failed')).to.deep.equal([]);
      const checks = findings.filter(({ status }) => status === 'ok').map(({ check }) => check);
      expect(checks).to.include.members([
        'provider discovery',
        'provider keys',
        'sign-in provider',
        'authorize provider',
        'authorize client',
        'console provider',
      ]);
      // It has back-channel logout, which its metadata does not announce.
      const { sentence } = findings.find(({ check }) => check === 'sign-in provider') ?? {};
      expect(sentence).to.include('announces no back-channel logout: if it has none');
    });

    it('says that the token of a person would be accepted', async () => {
      const { accessToken } = await running.signIn(ada);
      const read = doctorSettings({ environment: environmentOf(running.settings), overrides: [] });
      const findings = await explainToken(read, movedClock(), { stdin: Readable.from([accessToken]), person: true });
      expect(findings.filter(({ status }) => status === 'failed')).to.deep.equal([]);
      expect(findings.find(({ check }) => check === 'verdict')?.status).to.equal('ok');
    });
  });
});
