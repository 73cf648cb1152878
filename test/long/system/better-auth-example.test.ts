/** The provider of docs/examples/better-auth, from an empty folder: token, doctor, tasks, `/me`, the console and poll. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { explainToken } from '../../../composition/commands/doctor.ts';
import { examineEverything } from '../../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { browse, closeBrowser, devices } from '../../support/browser.ts';
import { sqliteFile } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { ADMIN_KEY, environmentOf, fieldsOf, type Mandate, startMandate, withService } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const example = (name: string) => fileURLToPath(new URL(`../../../docs/examples/better-auth/${name}`, import.meta.url));
const BEARER = 'the-bearer-token-of-the-users-service';

describe('The example of Better Auth', function () {
  this.timeout(60_000);
  const home = mkdtempSync(join(tmpdir(), 'mandate-better-auth-example-'));
  const stops: (() => Promise<unknown>)[] = [];
  let mandate: Mandate;
  let settings: Readonly<Record<string, string>>;
  let origin: string;
  let environment: Readonly<Record<string, string | undefined>>;
  const runToken = async (...args: readonly string[]) =>
    (await promisify(execFile)('sh', [example('token.sh'), ...args], { cwd: home, env: environment })).stdout.trim();

  before(async () => {
    const [port, consolePort, providerPort] = [await freePort(), await freePort(), await freePort()];
    const [issuer, provider] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${providerPort}`];
    origin = `http://127.0.0.1:${consolePort}`;
    const addresses = { PROVIDER: provider, MANDATE: issuer, CONSOLE: origin };
    environment = { ...process.env, ...addresses, USERS_BEARER_TOKEN: BEARER };
    const server = spawn(process.execPath, [example('server.mjs')], { cwd: home, env: environment });
    server.stderr.pipe(process.stderr);
    stops.push(async () => {
      server.kill();
      await once(server, 'exit');
      rmSync(home, { recursive: true });
    });
    await once(server.stdout, 'data');
    const database = await sqliteFile.fresh();
    const peopleAsked = {
      'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
      'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${provider}/users`,
      'Service:UpstreamIdp:SponsorCheck:BearerToken': BEARER,
    };
    const clients = {
      'Service:UpstreamIdp:BackchannelLogout:Audience': 'portal',
      'Service:Me:ClientId': 'mandate-page',
      'Service:Authorize:ClientId': 'mandate-authorize',
      'Service:Authorize:ProviderParameters:resource': issuer,
      'Service:Operators:ClientId': 'mandate-console',
      'Service:Operators:RoleClaim': 'roles',
      'Service:Operators:Roles:Viewer': 'mandate-viewer',
      'Service:Operators:Roles:Responder': 'mandate-responder',
    };
    settings = {
      ...database.settings,
      ...sharedSigningKey(),
      NODE_ENV: 'development',
      HOST: '127.0.0.1',
      PORT: String(port),
      'Service:Issuer': issuer,
      'Service:Admin:ApiKey': ADMIN_KEY,
      'Service:UpstreamIdp:Issuer': `${provider}/api/auth`,
      'Service:UpstreamIdp:Audience': issuer,
      ...peopleAsked,
      ...clients,
      'Service:Console:Port': String(consolePort),
      'Service:Console:Origin': origin,
    };
    mandate = await startMandate({ database: { ...sqliteFile, fresh: async () => database }, settings });
    stops.push(() => mandate.stop());
    await eventually(async () => (await mandate.get('/readyz')).status === 200, 50);
  });
  after(async () => {
    await closeBrowser();
    for (const stop of stops.reverse()) await stop();
  });

  const read = () => doctorSettings({ environment: environmentOf(settings), overrides: [] });

  it('has no failure for doctor, which would accept the token of the person', async () => {
    const findings = await examineEverything(read(), movedClock());
    expect(findings.filter(({ status }) => status === 'failed')).to.deep.equal([]);
    const tried = findings.filter(({ status }) => status === 'ok').map(({ check }) => check);
    const clients = ['sign-in client', 'authorize client', 'console client'];
    expect(tried).to.include.members(['sponsor check', ...clients, 'console address']);
    const stdin = Readable.from([await runToken()]);
    const explained = await explainToken(read(), movedClock(), { stdin, person: true });
    expect(explained.filter(({ status }) => status !== 'ok')).to.deep.equal([]);
  });

  it('grants only the scopes that the person holds, and its sign-out ends the task of the session', async () => {
    const agent = await mandate.agent({ display_name: 'Jira triage' });
    const subject_token = await runToken();
    expect(decodeJwt(subject_token).scope).to.equal('openid offline_access jira:read');
    const issued = await agent.exchange({ subject_token, scope: 'jira:read jira:comment' });
    expect(issued.body.scope, issued.text).to.equal('jira:read');
    const records = await mandate.recorded(async () => {
      await runToken('sign-out');
      await eventually(async () => !(await mandate.introspect(issued)).active, 50);
    });
    expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.equal([
      ['sponsor.signal', 'sponsor_logged_out', null],
      ['task.revoked', 'sponsor_logged_out', issued.body.task_id],
    ]);
  });

  it('signs Ada in at /me and at the console, lets her pause and resume, and leads back after Sign out everywhere', async () => {
    const page = await (await browse(devices.desktop)).newPage();
    await page.goto(`${mandate.issuer}/me`);
    await page.getByLabel('Email').fill('ada@people.example');
    await page.getByLabel('Password').fill('notes-on-the-engine');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.locator('summary', { hasText: 'Pause agents' }).click();
    await page.getByRole('button', { name: 'Pause all agents' }).click();
    await page.getByRole('button', { name: 'Let agents act again' }).click();
    await page.getByText('Agents may act for you again.').waitFor();
    // The session at the provider is enough: only the consent is asked for.
    await page.goto(origin);
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.getByText('viewer, responder').waitFor();
    await page.goto(`${mandate.issuer}/me`);
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.waitForURL(`${mandate.issuer}/me/signed-out`);
    await page.goto(`${mandate.issuer}/me`);
    await page.getByLabel('Password').waitFor();
    await page.context().close();
  });

  it('has a users service, which knows no person who is deleted', async () => {
    const agent = await mandate.agent();
    const subject_token = await runToken();
    const database = new Database(join(home, 'provider.db'));
    database.prepare('delete from user').run();
    database.close();
    // An answer about the person is remembered for a while. Another instance has none.
    await withService(mandate.another({ 'Service:Console:Port': String(await freePort()) }), async (other) => {
      const records = await mandate.recorded(async () => {
        const { body } = await other.post('/oauth2/token', agent.exchangeForm({ subject_token, scope: 'jira:read' }));
        expect(body).to.include({ error: 'access_denied', reason: 'sponsor_not_found' });
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
        ['token.denied', 'deny', 'sponsor_not_found'],
      ]);
    });
  });
});
