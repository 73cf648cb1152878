/** Every route of the console, for every role: who may open and do what, and what the ledger says about the others. */

import { expect } from 'chai';
import { adminRoutes } from '../../../adapters/http/admin/roles.ts';
import { screens } from '../../../adapters/http/console/screens.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { freePort } from '../../../scripts/free-port.ts';
import {
  type ConsoleWithProvider,
  type OperatorsBrowser,
  operators,
  signedInOperator,
  startWithConsole,
} from '../../support/console/operators-browser.ts';
import { feeds, fileForms, forms } from '../../support/console/rows.ts';
import { databasesByLength } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { fieldsOf, sendTo } from '../../support/mandate.ts';

type Role = Exclude<keyof typeof operators, 'both' | 'second' | 'none'>;
const ROLES: readonly Role[] = ['viewer', 'auditor', 'registrar', 'responder'];

const only = (...roles: readonly Role[]): readonly Role[] => roles;

/** Who may open each screen. */
const SCREENS: Readonly<Record<keyof typeof screens, readonly Role[]>> = {
  now: ROLES,
  tasks: ROLES,
  delegation: ROLES,
  agents: ROLES,
  agent: ROLES,
  task: ROLES,
  record: only('auditor'),
  people: ROLES,
  approvals: ROLES,
  ledger: only('auditor'),
  checkpoints: only('auditor'),
  doctor: ROLES,
  stop: only('responder'),
};
/** Who may send each form that changes something. */
const FORMS: Readonly<Record<string, readonly Role[]>> = {
  stopTask: only('responder'),
  stopAgent: only('responder'),
  stopPerson: only('responder'),
  stopEverything: only('responder'),
  block: only('responder'),
  unblock: only('responder'),
  disableAgent: only('registrar'),
  enableAgent: only('registrar'),
};
const FILE_FORMS: Readonly<Record<string, readonly Role[]>> = { compare: ROLES };
const FEEDS: Readonly<Record<string, readonly Role[]>> = {
  now: ROLES,
  stream: only('auditor'),
  proofs: only('auditor'),
  chain: only('auditor'),
};

const ID = 'task_01M31S7W68TMK7WDX8YKPSYTEA';
const pathOf = (path: string) => path.replace(':taskId', ID).replace(':agentId', 'no-such-agent').replace(':seq', '1');

describe('The table of screens', () => {
  it('has the role of the route of the API that does the same', () => {
    const rows = [
      ...Object.values(screens),
      ...Object.values(forms),
      ...Object.values(fileForms),
      ...Object.values(feeds),
    ];
    for (const { path, route } of rows) expect(adminRoutes, path).to.have.property(route);
    const isAllowed = (role: Role, needed: OperatorRole) => needed === 'viewer' || needed === role;
    const tables = [
      [screens, SCREENS],
      [forms, FORMS],
      [fileForms, FILE_FORMS],
      [feeds, FEEDS],
    ] as const;
    for (const [table, expected] of tables) {
      expect(Object.keys(table)).to.have.members(Object.keys(expected));
      for (const [name, { route }] of Object.entries(table)) {
        const allowed = ROLES.filter((role) => isAllowed(role, adminRoutes[route as keyof typeof adminRoutes]));
        expect(allowed, name).to.deep.equal((expected as Readonly<Record<string, readonly Role[]>>)[name]);
      }
    }
  });
});

for (const database of databasesByLength) {
  describe(`The console by role on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    const browsers = new Map<Role, OperatorsBrowser>();

    before(async () => {
      // Otherwise only the first of several refusals that name no operator is recorded.
      running = await startWithConsole(database, { 'Service:Audit:Aggregation:Enabled': 'false' });
      for (const role of ROLES) browsers.set(role, await signedInOperator(running, operators[role]));
    });
    after(() => running.stop());

    const browserOf = (role: Role): OperatorsBrowser => {
      const browser = browsers.get(role);
      if (browser === undefined) throw new Error(`no operator is signed in as ${role}`);
      return browser;
    };
    const refusedAct = (role: Role, act: string) =>
      new URLSearchParams({ iss: running.operatorsProvider.issuer, sub: operators[role].username, act }).toString();

    for (const role of ROLES) {
      it(`opens for a ${role} what the role allows, and refuses and records the rest`, async () => {
        const { get, post } = browserOf(role);
        const reads = [
          ...Object.entries(screens).map(([name, row]) => ({ ...row, may: SCREENS[name as keyof typeof screens] })),
          ...Object.entries(feeds).map(([name, row]) => ({ ...row, may: FEEDS[name] ?? [] })),
        ];
        const expected: unknown[] = [];
        const refuses = (route: string) =>
          expected.push(['admin.denied', 'deny', 'operator_role_missing', refusedAct(role, route)]);
        const records = await running.mandate.recorded(async () => {
          for (const { path, route, may } of reads) {
            const { status } = await get(pathOf(path));
            if (may.includes(role)) expect(status, path).to.be.oneOf([200, 400, 404]);
            else expect(status, path).to.equal(403);
            if (!may.includes(role)) refuses(route);
          }
          for (const [name, { path, route }] of Object.entries(forms)) {
            if (FORMS[name]?.includes(role)) continue;
            const answer = await post(path, {
              reason: 'To see whether it is refused',
              sponsor_key: 'ada',
              typed: 'ada',
            });
            expect([answer.status, answer.text.includes('Your roles do not allow this')], path).to.deep.equal([
              403,
              true,
            ]);
            refuses(route);
          }
        });
        expect(fieldsOf(records, 'event', 'decision', 'reason', 'detail')).to.deep.equal(expected);
      });

      it(`compares a file for a ${role}`, async () => {
        const browser = browserOf(role);
        const body = new FormData();
        body.set('form_token', await browser.formToken());
        body.set('file', new Blob(['agents: []']), 'agents.yaml');
        const headers = { accept: 'text/html', cookie: browser.cookies(), origin: running.origin };
        const address = `${running.origin}${fileForms.compare?.path}`;
        expect((await sendTo(address, { method: 'POST', headers, body })).status).to.equal(200);
      });

      it(`shows a ${role} only links and buttons that they may use`, async () => {
        const { get } = browserOf(role);
        for (const path of ['/', '/people', '/people?sponsor=ada', '/agents']) {
          const { text } = await get(path);
          const links = [...text.matchAll(/(?:href|action)="(\/[^"?]*)/g)].map(([, link = '']) => link);
          for (const [name, row] of Object.entries(screens)) {
            if (!SCREENS[name as keyof typeof screens].includes(role)) expect(links, path).not.to.include(row.path);
          }
          for (const [name, row] of Object.entries(forms)) {
            if (!FORMS[name]?.includes(role)) expect(links, path).not.to.include(row.path);
          }
        }
      });
    }

    it('answers OPTIONS * and OPTIONS /, by which some proxies check health, with 204 and Allow', async () => {
      const records = await running.mandate.recorded(async () => {
        for (const [target, allow] of [
          ['*', 'GET, HEAD, POST, OPTIONS'],
          ['/', 'GET, HEAD, OPTIONS'],
          ['/?x=1', 'GET, HEAD, OPTIONS'],
        ]) {
          const { answers } = await sendBytes(running.origin, `OPTIONS ${target} HTTP/1.0\r\n\r\n`);
          expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).to.deep.equal([[204, allow]]);
        }
      });
      expect(records).to.deep.equal([]);
    });

    it('refuses a person without a role at the sign-in, and records it', async () => {
      const records = await running.mandate.recorded(async () => {
        const { signedIn, get } = await signedInOperator(running, operators.none);
        expect(signedIn.status).to.equal(403);
        expect(signedIn.text).to.contain('You have no role here');
        expect(signedIn.headers.getSetCookie().join()).not.to.contain('__Host-mandate-console=');
        expect((await get('/')).headers.get('location')).to.equal('/sign-in');
      });
      const detail = new URLSearchParams({ iss: running.operatorsProvider.issuer, sub: 'nils', act: 'GET /callback' });
      expect(fieldsOf(records, 'event', 'reason', 'detail')).to.deep.equal([
        ['admin.denied', 'operator_role_missing', detail.toString()],
      ]);
    });

    it('ends the session of the browser when a person without a role signs in there', async () => {
      const browser = await signedInOperator(running, operators.responder);
      expect((await browser.get('/')).status).to.equal(200);
      const records = await running.mandate.recorded(async () => {
        expect((await browser.signIn(operators.none)).status).to.equal(403);
        expect((await browser.get('/')).headers.get('location')).to.equal('/sign-in');
      });
      expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([
        ['operator.signed_out', null],
        ['admin.denied', 'operator_role_missing'],
      ]);
      expect(new URLSearchParams(String(records[0]?.detail)).get('sub')).to.equal('rosa');
    });

    it('records who signs in and out, with the roles of the session', async () => {
      const detail = (username: string, role: string) =>
        new URLSearchParams({ iss: running.operatorsProvider.issuer, sub: username, role }).toString();
      const records = await running.mandate.recorded(async () => {
        const { signIn, post } = await signedInOperator(running, operators.both);
        expect((await signIn(operators.viewer)).status).to.equal(302);
        for (let times = 0; times < 2; times += 1) expect((await post('/sign-out')).status).to.equal(200);
      });
      const olga = detail('olga', 'auditor,responder');
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor', 'detail')).to.deep.equal([
        ['operator.signed_in', 'allow', null, null, olga],
        ['operator.signed_out', 'allow', null, null, olga],
        ['operator.signed_in', 'allow', null, null, detail('vera', 'viewer')],
        ['operator.signed_out', 'allow', null, null, detail('vera', 'viewer')],
      ]);
    });

    it('ends a session when the settings that gave its roles change', async () => {
      const { get, cookies } = await signedInOperator(running, operators.responder);
      const headers = { accept: 'text/html', cookie: cookies() };
      for (const [settings, location] of [
        [{}, undefined],
        [{ 'Service:Operators:Roles:Responder': 'stops-agents' }, '/sign-in'],
        [{ 'Service:Operators:RoleClaim': 'groups' }, '/sign-in'],
        [{ 'Service:Operators:ClientId': 'another-client' }, '/sign-in'],
      ] as const) {
        const port = await freePort();
        const changed = await running.mandate.another({ ...settings, 'Service:Console:Port': String(port) });
        const answer = await sendTo(`http://127.0.0.1:${port}/`, { headers });
        expect(answer.headers.get('location') ?? undefined, JSON.stringify(settings)).to.equal(location);
        await changed.stop();
      }
      expect((await get('/')).status).to.equal(200);
    });

    it('logs two session cookies, also at the sign-out, and reads one beside a cookie whose name has another prefix', async () => {
      const [{ get, post, cookies }, other] = [browserOf('responder'), browserOf('viewer')];
      const { status, text } = await post('/sign-out', {}, { cookie: `${other.cookies()}; ${cookies()}` });
      expect([status, text.includes('Your browser sends two sessions')]).to.deep.equal([400, true]);
      expect((await get('/', { cookie: `\u00a0${other.cookies()}; ${cookies()}` })).status).to.equal(200);
      const { lines } = running.mandate.log;
      await eventually(async () => lines.some((line) => line.includes('"cookie":"__Host-mandate-console"')));
    });

    it('answers its feeds to its own pages, and opens a page by a link of another site', async () => {
      const { get } = browserOf('auditor');
      // A browser without fetch metadata sends nothing, or its origin.
      for (const headers of [{}, { origin: running.origin }, { 'sec-fetch-site': 'same-origin' }]) {
        expect((await get('/now', headers)).status).to.equal(200);
        expect((await get('/stream', headers, 'HEAD')).status).to.equal(200);
      }
      expect((await get('/', { 'sec-fetch-site': 'cross-site' })).status).to.equal(200);
    });
  });
}
