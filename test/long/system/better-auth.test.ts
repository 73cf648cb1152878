/**
 * Better Auth as the identity provider of an application, of the page `/me` and of the console. Its tokens are
 * signed with EdDSA, and everything at the provider goes over https with a private certificate authority.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Finding } from '../../../application/doctor/examine.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { runCommand } from '../../support/command-process.ts';
import { operators, signedInOperator } from '../../support/console/operators-browser.ts';
import { POLL_SCOPE } from '../../support/identity-provider/better-auth/setup.ts';
import {
  type MandateWithBetterAuth,
  startWithBetterAuth,
} from '../../support/identity-provider/better-auth/with-mandate.ts';
import { ada, grace } from '../../support/identity-provider/people.ts';
import { answering } from '../../support/loopback.ts';
import { fieldsOf, type RegisteredAgent, withService } from '../../support/mandate.ts';
import { personBrowser } from '../../support/me/person-browser.ts';
import { startUserDirectory } from '../../support/user-directory.ts';

const AUTHORITY = new URL('../../support/tls/ca.pem', import.meta.url);

describe('With Better Auth as the identity provider', function () {
  this.timeout(60_000);
  let running: MandateWithBetterAuth;
  let agent: RegisteredAgent;
  before(async () => {
    running = await startWithBetterAuth();
    agent = await running.mandate.agent({ display_name: 'Jira triage' });
  });
  after(() => running.stop());

  const accessToken = async (person = ada) => (await running.provider.signIn(person)).accessToken;
  const subjectOf = ({ username }: typeof ada) => running.provider.subjects[username];

  it('a token that is signed with EdDSA is exchanged for the scopes that the person holds, and renewed', async () => {
    const { mandate } = running;
    const token = await accessToken();
    expect(decodeProtectedHeader(token)).to.include({ alg: 'EdDSA', typ: 'at+jwt' });
    const records = await mandate.recorded(async () => {
      const issued = await agent.exchange({ subject_token: token, scope: 'jira:read jira:admin' });
      expect(issued.body, issued.text).to.include({ scope: 'jira:read' });
      const renewed = await agent.refresh(String(issued.body.refresh_token));
      expect(await mandate.introspect(renewed)).to.include({ active: true, sub: subjectOf(ada) });
    });
    expect(fieldsOf(records, 'event', 'sponsor', 'scope')).to.deep.equal([
      ['token.issued', subjectOf(ada), 'jira:read'],
      ['token.refreshed', subjectOf(ada), 'jira:read'],
    ]);
  });

  it('a sign-out at the provider ends the tasks of that session, by a logout token of type logout+jwt', async () => {
    const { mandate, provider } = running;
    const [ended, other] = [await provider.signIn(grace), await provider.signIn(grace)];
    const form = { scope: 'jira:read' };
    const task = await agent.exchange({ ...form, subject_token: ended.accessToken });
    const kept = await agent.exchange({ ...form, subject_token: other.accessToken });
    expect(decodeJwt(ended.accessToken).sid).not.to.equal(decodeJwt(other.accessToken).sid);
    const records = await mandate.recorded(() => ended.signOut());
    expect(fieldsOf(records, 'event', 'reason', 'sponsor', 'task_id')).to.deep.equal([
      ['sponsor.signal', 'sponsor_logged_out', subjectOf(grace), null],
      ['task.revoked', 'sponsor_logged_out', subjectOf(grace), task.body.task_id],
    ]);
    expect((await mandate.introspect(task)).active).to.equal(false);
    expect((await mandate.introspect(kept)).active).to.equal(true);
  });

  it('a person signs in at /me with private_key_jwt, again to lift a pause, and the sign-out there closes the session', async () => {
    const { mandate, provider } = running;
    const { task_id: task } = (await agent.exchange({ subject_token: await accessToken(), scope: 'jira:read' })).body;
    const person = personBrowser(mandate, ada);
    expect((await person.signIn()).headers.get('location')).to.equal('/me');
    const page = await mandate.get('/me', { cookie: person.cookies() });
    expect(page.text).to.include(String(task));
    // Better Auth has `max_age` and `auth_time`, without which no pause can be lifted.
    expect((await person.signIn('/me/sign-in?to=resume')).headers.get('location')).to.equal('/me/resume');
    const confirmation = await person.browser.open(`${provider.issuer}/oauth2/end-session`);
    expect((await person.browser.submit(confirmation, {})).text).to.include('Logged out');
    expect((await mandate.get('/me', { cookie: person.cookies() })).headers.get('location')).to.equal('/me/sign-in');
  });

  it('an operator signs in at the console with a role, and a person without a role gets no session', async () => {
    const viewer = await signedInOperator(running, operators.viewer);
    expect(viewer.signedIn.headers.get('location'), viewer.signedIn.text).to.equal('/');
    expect((await viewer.get('/')).status).to.equal(200);
    const records = await running.mandate.recorded(async () => {
      const { signedIn } = await signedInOperator(running, operators.none);
      expect(signedIn.status).to.equal(403);
    });
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['admin.denied', 'operator_role_missing']]);
  });

  it('tokens of a new key are accepted at once, and of the former key as long as it is published', async () => {
    const { mandate, provider } = running;
    const exchange = (token: string) => agent.exchange({ subject_token: token, scope: 'jira:read' });
    const first = await accessToken();
    await provider.changeKeys('rotate');
    const second = await accessToken();
    for (const token of [first, second]) expect((await exchange(token)).status).to.equal(200);
    await provider.changeKeys('replace');
    const third = await accessToken();
    expect(new Set([first, second, third].map((token) => decodeProtectedHeader(token).kid))).to.have.lengthOf(3);
    expect((await exchange(third)).status).to.equal(200);
    const records = await mandate.recorded(async () => {
      expect((await exchange(first)).body.error).to.equal('invalid_grant');
    });
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['token.denied', 'subject_unknown_key']]);
  });

  it('a service token of Better Auth, by private_key_jwt with a scope, opens the users service that is polled', async () => {
    const { provider, mandate } = running;
    const users = await startUserDirectory(answering({ enabled: true }));
    const poll = {
      ...users.settings,
      'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${provider.issuer}/oauth2/token`,
      'Service:UpstreamIdp:SponsorCheck:ClientId': provider.clients.poll,
      'Service:UpstreamIdp:SponsorCheck:Scope': POLL_SCOPE,
      'Service:Console:Port': String(await freePort()),
    };
    await withService(mandate.another(poll), async (polling) => {
      const form = agent.exchangeForm({ subject_token: await accessToken(), scope: 'jira:read' });
      const issued = await polling.post('/oauth2/token', form);
      expect(issued.status, issued.text).to.equal(200);
      const [asked] = users.server.received;
      expect(asked?.path).to.equal(`/users/${subjectOf(ada)}`);
      expect(asked?.headers.authorization).to.match(/^Bearer \S{20,}$/);
    });
    await users.server.close();
  });

  it('mandate doctor complains of nothing, and accepts a token', async () => {
    const settings = {
      ...running.settings,
      'Service:AgentKeys:BlockPrivateNetworks': 'true',
      NODE_ENV: 'development',
      NODE_EXTRA_CA_CERTS: fileURLToPath(AUTHORITY),
    };
    const file = join(running.folder, 'token.txt');
    writeFileSync(file, await accessToken());
    for (const [args, stdin] of [
      [['doctor'], ''],
      [['doctor', '--subject-token', '-', '--person'], `exec < ${file}`],
    ] as const) {
      const { code, out } = await runCommand([...args, '--json'], settings, stdin || undefined);
      const findings: readonly Finding[] = JSON.parse(out);
      expect(findings.filter(({ status }) => status !== 'ok' && status !== 'skipped')).to.deep.equal([]);
      expect(code).to.equal(0);
    }
  });
});
