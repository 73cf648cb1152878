/** Every route of the console, for every role: who may open and do what, and what the ledger says about the others. */

import { expect } from 'chai';
import { adminRoutes } from '../../../adapters/http/admin/roles.ts';
import { feeds, fileForms, forms, screens } from '../../../adapters/http/console/screens.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { freePort } from '../../../scripts/free-port.ts';
import {
  type ConsoleWithProvider,
  type OperatorsBrowser,
  operators,
  signedInOperator,
  startWithConsole,
} from '../../support/console/operators-browser.ts';
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

/** The last one is no method of a page. Node refuses methods that it does not know, before the console sees them. */
const OTHER_METHODS = ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'];

const ID = 'task_01M31S7W68TMK7WDX8YKPSYTEA';
const pathOf = (path: string) => path.replace(':taskId', ID).replace(':agentId', 'no-such-agent').replace(':seq', '1');

/** A screen with parameters in its path leads to the list that names it. */
const leadsTo = (screen: keyof typeof screens) => (screen === 'agent' ? '/agents' : screens[screen].path);

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

  it('has each path at most once for a method', () => {
    for (const table of [
      { ...screens, ...feeds },
      { ...forms, ...fileForms },
    ]) {
      const paths = Object.values(table).map(({ path }) => path);
      expect(new Set(paths).size).to.equal(paths.length);
    }
  });
});

for (const database of databasesByLength) {
  describe(`The console by role on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    const browsers = new Map<Role, OperatorsBrowser>();

    before(async () => {
      // Otherwise only the first of several refusals that name nobody is recorded.
      running = await startWithConsole(database, { 'Service:Audit:Aggregation:Enabled': 'false' });
      for (const role of ROLES) browsers.set(role, await signedInOperator(running, operators[role]));
    });
    after(() => running.stop());

    const browserOf = (role: Role): OperatorsBrowser => {
      const browser = browsers.get(role);
      if (browser === undefined) throw new Error(`nobody is signed in as ${role}`);
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
        for (const { path, route, may } of reads) {
          const statuses: number[] = [];
          const records = await running.mandate.recorded(async () => {
            for (const method of ['GET', 'HEAD']) statuses.push((await get(pathOf(path), {}, method)).status);
          });
          const denials = fieldsOf(records, 'event', 'decision', 'reason', 'detail');
          const [status] = statuses;
          expect(statuses, path).to.deep.equal([status, status]);
          if (may.includes(role)) {
            expect(status, path).to.be.oneOf([200, 400, 404]);
            expect(denials, path).to.deep.equal([]);
          } else {
            expect(status, path).to.equal(403);
            const denial = ['admin.denied', 'deny', 'operator_role_missing', refusedAct(role, route)];
            expect(denials, path).to.deep.equal([denial, denial]);
          }
        }
        for (const [name, { path, route }] of Object.entries(forms)) {
          if (FORMS[name]?.includes(role)) continue;
          let answer = { status: 0, text: '' };
          const records = await running.mandate.recorded(async () => {
            answer = await post(path, { reason: 'To see whether it is refused', sponsor_key: 'ada', typed: 'ada' });
          });
          expect(answer.status, path).to.equal(403);
          expect(answer.text, path).to.contain('Your roles do not allow this');
          expect(fieldsOf(records, 'event', 'decision', 'reason', 'detail'), path).to.deep.equal([
            ['admin.denied', 'deny', 'operator_role_missing', refusedAct(role, route)],
          ]);
        }
      });

      it(`compares a file for a ${role}, and refuses and records it without a session or from another site`, async () => {
        const browser = browserOf(role);
        const path = fileForms.compare?.path ?? '';
        const send = async (changes: Readonly<Record<string, string>>, token?: string) => {
          const body = new FormData();
          body.set('form_token', token ?? (await browser.formToken()));
          body.set('file', new Blob(['agents: []']), 'agents.yaml');
          const headers = { accept: 'text/html', cookie: browser.cookies(), origin: running.origin, ...changes };
          return sendTo(`${running.origin}${path}`, { method: 'POST', headers, body });
        };
        const cases = [
          [200, undefined, {}],
          [401, 'missing_token', { cookie: '' }],
          [403, 'invalid_form_token', { origin: running.mandate.issuer }],
          [403, 'invalid_form_token', {}, 'guessed'],
        ] as const;
        for (const [status, reason, headers, token] of cases) {
          const records = await running.mandate.recorded(async () => {
            expect((await send(headers, token)).status, reason).to.equal(status);
          });
          expect(fieldsOf(records, 'event', 'decision', 'reason'), reason).to.deep.equal(
            reason === undefined ? [] : [['admin.denied', 'deny', reason]],
          );
        }
      });

      it(`answers a ${role} 405 for every other method, names the methods of the path, and records nothing`, async () => {
        const { get } = browserOf(role);
        const tables = [
          ['GET, HEAD', { ...screens, ...feeds }, ['POST', ...OTHER_METHODS]],
          ['GET, HEAD, POST', { ...forms, ...fileForms }, OTHER_METHODS],
        ] as const;
        const records = await running.mandate.recorded(async () => {
          for (const [allow, rows, methods] of tables) {
            for (const [name, { path, ...row }] of Object.entries(rows)) {
              for (const method of methods) {
                const { status, headers } = await get(pathOf(path), {}, method);
                expect([status, headers.get('allow')], `${method} ${name}`).to.deep.equal([405, allow]);
              }
              if (allow === 'GET, HEAD') continue;
              for (const method of ['GET', 'HEAD']) {
                const { status, headers } = await get(path, {}, method);
                expect([status, headers.get('location')], `${method} ${name}`).to.deep.equal([
                  302,
                  'screen' in row ? leadsTo(row.screen) : undefined,
                ]);
              }
            }
          }
        });
        expect(records).to.deep.equal([]);
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

    it('accepts neither of two session cookies: 400, recorded and logged, and no redirect', async () => {
      const [{ get, post, cookies }, other] = [browserOf('responder'), browserOf('viewer')];
      const cookie = `${other.cookies()}; ${cookies()}`;
      const records = await running.mandate.recorded(async () => {
        for (const answer of [
          await get('/', { cookie }),
          await get('/now', { cookie }),
          await post('/people/block', { reason: 'Two sessions', sponsor_key: 'grace', typed: 'grace' }, { cookie }),
          await post('/sign-out', {}, { cookie }),
        ]) {
          expect([answer.status, answer.text.includes('Your browser sends two sessions')]).to.deep.equal([400, true]);
        }
      });
      expect(fieldsOf(records, 'event', 'reason')).to.deep.equal(
        Array.from({ length: 4 }, () => ['admin.denied', 'missing_token']),
      );
      expect((await get('/', { cookie: `\u00a0${other.cookies()}; ${cookies()}` })).status).to.equal(200);
      const { lines } = running.mandate.log;
      await eventually(async () => lines.some((line) => line.includes('"cookie":"__Host-mandate-console"')));
    });

    it('refuses its feeds to other sites and to other hosts of its site: 403, recorded, and no slot of a listener is taken', async () => {
      const { get } = browserOf('auditor');
      for (const { path } of Object.values(feeds)) {
        const foreign = ['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site }));
        // A browser without fetch metadata names the origin of a script.
        const origins = ['https://evil.example', running.mandate.issuer, 'null', ''].map((origin) => ({ origin }));
        for (const headers of [...foreign, ...origins]) {
          const site = JSON.stringify(headers);
          const records = await running.mandate.recorded(async () => {
            const answer = await get(path, headers);
            expect([answer.status, answer.headers.get('content-type')], `${path} ${site}`).to.deep.equal([
              ...[403, 'application/problem+json; charset=utf-8'],
            ]);
          });
          expect(fieldsOf(records, 'event', 'decision', 'reason', 'detail'), `${path} ${site}`).to.deep.equal([
            ['admin.denied', 'deny', 'invalid_form_token', undefined],
          ]);
        }
      }
      // A browser without fetch metadata, and the pages themselves.
      for (const headers of [{}, { origin: running.origin }, { 'sec-fetch-site': 'same-origin' }]) {
        expect((await get('/now', headers)).status).to.equal(200);
        expect((await get('/stream', headers, 'HEAD')).status).to.equal(200);
      }
      // A link of another site opens a page.
      expect((await get('/', { 'sec-fetch-site': 'cross-site' })).status).to.equal(200);
    });

    it('refuses a form without a session, from another origin, and without its form token: recorded, and nothing changes', async () => {
      const { post, cookies } = browserOf('responder');
      const form = { reason: 'A form of another site', sponsor_key: 'grace', typed: 'grace' };
      const cases = [
        ['missing_token', 401, form, { cookie: '' }],
        ['invalid_form_token', 403, form, { origin: running.mandate.issuer }],
        ['invalid_form_token', 403, form, { 'sec-fetch-site': 'same-site' }],
        ['invalid_form_token', 403, { ...form, form_token: 'guessed' }, {}],
      ] as const;
      for (const [reason, status, fields, headers] of cases) {
        const records = await running.mandate.recorded(async () => {
          expect((await post('/people/block', fields, headers)).status).to.equal(status);
        });
        expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['admin.denied', reason]]);
        expect((await running.mandate.admin('GET', '/admin/sponsors/grace')).status).to.equal(404);
      }
      expect(cookies()).not.to.equal('');
    });

    it('needs a usable reason and the typed name: otherwise 400 names the field, and nothing changes', async () => {
      const { post } = browserOf('responder');
      const cases = [
        ['reason', { sponsor_key: 'grace', typed: 'grace' }],
        ['reason', { sponsor_key: 'grace', typed: 'grace', reason: 'no' }],
        ['reason', { sponsor_key: 'grace', typed: 'grace', reason: 'a\u0007bell' }],
        ['reason', { sponsor_key: 'grace', typed: 'grace', reason: 'x'.repeat(201) }],
        ['reason', { sponsor_key: 'grace', typed: 'grace', reason: `${'😀'.repeat(100)}x` }],
        ['typed', { sponsor_key: 'grace', typed: 'Grace', reason: 'The name is another one' }],
        ['sponsor_key', { sponsor_key: '', typed: '', reason: 'There is no name' }],
      ] as const;
      for (const [field, fields] of cases) {
        const records = await running.mandate.recorded(async () => {
          const answer = await post('/people/block', fields);
          expect([answer.status, answer.text.includes(`<code>${field}</code>`)], JSON.stringify(fields)).to.deep.equal([
            400,
            true,
          ]);
        });
        // With a usable reason the request is an act, whatever it ended with. It explains no other record.
        const acts = records.map(({ event, detail }) => [event, new URLSearchParams(String(detail)).get('seq')]);
        expect(acts, JSON.stringify(fields)).to.deep.equal(field === 'reason' ? [] : [['operator.acted', '']]);
      }
      expect((await running.mandate.admin('GET', '/admin/sponsors/grace')).status).to.equal(404);
    });

    it('ends a task only if the operator has typed the id of its agent', async () => {
      const { mandate } = running;
      const agent = await mandate.agent();
      const grant = await agent.grant();
      const taskId = String((await agent.exchange()).body.task_id);
      const { post } = browserOf('responder');
      const send = (typed: string) => post('/stop/task', { task_id: taskId, typed, reason: 'The agent loops' });
      const records = await mandate.recorded(async () => {
        for (const typed of ['', taskId, `${agent.id}x`]) {
          const answer = await send(typed);
          expect([answer.status, answer.text.includes('<code>typed</code>')]).to.deep.equal([400, true]);
        }
      });
      expect(records.map(({ event }) => event)).to.deep.equal(Array.from({ length: 3 }, () => 'operator.acted'));
      expect((await mandate.admin('GET', `/admin/tasks/${taskId}`)).body.state).to.equal('live');
      expect((await send(agent.id)).status).to.equal(303);
      expect((await mandate.admin('GET', `/admin/tasks/${taskId}`)).body.state).to.equal('revoked');
      expect((await agent.refresh(grant)).status).to.equal(200);
    });

    it('shows a reason of markup as text, and records its hash with the operator, the role and the act', async () => {
      const { post } = browserOf('responder');
      const reason = '<script>alert(1)</script> & "quotes"';
      const records = await running.mandate.recorded(async () => {
        const answer = await post('/people/block', { sponsor_key: 'grace', typed: 'grace', reason });
        expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/people?sponsor=grace']);
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
        ['sponsor.blocked', 'allow', 'sponsor_blocked'],
        ['operator.acted', 'allow', null],
      ]);
      const detail = new URLSearchParams(String(records[1]?.detail));
      expect(Object.fromEntries(detail)).to.include({
        iss: running.operatorsProvider.issuer,
        sub: 'rosa',
        role: 'responder',
        act: 'PUT /admin/sponsors/{sponsor_key}/block',
        seq: String(records[0]?.seq),
      });
      const acts = await running.mandate.admin('GET', '/admin/acts?sub=rosa');
      expect((acts.body.acts as { reason: string }[])[0]?.reason).to.equal(reason);
    });

    it('refuses unknown values and parameters of a screen with 400 that names the field', async () => {
      const { get } = browserOf('auditor');
      for (const [path, field] of [
        ['/?x=1', 'x'],
        ['/people?source=nobody', 'source'],
        ['/people?cursor=abc', 'cursor'],
        ['/people?sponsor=a%20b', 'sponsor'],
        ['/ledger?decision=maybe', 'decision'],
        ['/doctor?x=1', 'x'],
      ]) {
        const answer = await get(path ?? '');
        expect([answer.status, answer.text.includes(`<code>${field}</code>`)], path).to.deep.equal([400, true]);
      }
    });

    it('sends every page with a strict content security policy and no-store, and without inline styles or handlers', async () => {
      for (const path of ['/', '/people', '/stop', '/no-such-page', '/sign-in']) {
        const { headers, text } = await browserOf('responder').get(path);
        expect(headers.get('cache-control'), path).to.equal('no-store');
        // With `no-referrer` a browser would send `Origin: null` with a form.
        const policy = path === '/sign-in' ? 'no-referrer' : 'same-origin';
        expect(headers.get('referrer-policy'), path).to.equal(policy);
        expect(headers.get('content-security-policy'), path).to.contain("frame-ancestors 'none'");
        expect(headers.get('content-security-policy'), path).not.to.contain('unsafe');
        expect(headers.get('cross-origin-opener-policy'), path).to.equal('same-origin');
        expect(headers.get('cross-origin-resource-policy'), path).to.equal('same-origin');
        expect(text, path).not.to.match(/ style=| on\w+="/);
      }
    });
  });

  describe(`Two operators at the console on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    before(async () => {
      running = await startWithConsole(database, { 'Service:Operators:TwoPersonUnblock': 'true' });
    });
    after(() => running.stop());

    const block = (key: string) => running.mandate.admin('PUT', `/admin/sponsors/${key}/block`);
    const isBlocked = async (key: string) =>
      (await running.mandate.admin('GET', `/admin/sponsors/${key}`)).status === 200;

    it('must both ask before a block is lifted, and the page says so to the first', async () => {
      const [rosa, otto] = [
        await signedInOperator(running, operators.responder),
        await signedInOperator(running, operators.second),
      ];
      await block('grace');
      const form = { sponsor_key: 'grace', reason: 'Her account is hers again' };
      const saysPending = async () =>
        (await otto.get('/people?sponsor=grace')).text.includes('A second, different operator must ask as well, until');
      expect(await saysPending()).to.equal(false);
      for (let times = 0; times < 2; times += 1) {
        const first = await rosa.post('/people/unblock', form);
        expect([first.status, first.headers.get('location')]).to.deep.equal([303, '/people?sponsor=grace']);
        expect(first.headers.getSetCookie().join()).to.contain('unblock_pending.0');
        expect(await isBlocked('grace')).to.equal(true);
      }
      // Each page that is read keeps the session for another quarter of an hour.
      for (let minutes = 0; minutes < 60; minutes += 12) {
        expect(await saysPending()).to.equal(true);
        await rosa.get('/');
        running.mandate.clock.advance(12 * 60);
      }
      expect(await saysPending()).to.equal(false);
      expect((await rosa.post('/people/unblock', form)).headers.getSetCookie().join()).to.contain('unblock_pending.0');
      expect((await otto.post('/people/unblock', form)).headers.getSetCookie().join()).to.contain('unblocked.0');
      expect(await isBlocked('grace')).to.equal(false);
      const gone = await otto.post('/people/unblock', form);
      expect([gone.status, gone.text.includes('This person is not blocked')]).to.deep.equal([404, true]);
    });

    it('cannot lift a block of themselves: refused, recorded, and the block stays', async () => {
      const rosa = await signedInOperator(running, operators.responder);
      await block('rosa');
      const records = await running.mandate.recorded(async () => {
        const answer = await rosa.post('/people/unblock', { sponsor_key: 'rosa', reason: 'It is a mistake' });
        expect([answer.status, answer.text.includes('You may not lift this block')]).to.deep.equal([403, true]);
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
        ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
        ['operator.acted', 'allow', null],
      ]);
      expect(await isBlocked('rosa')).to.equal(true);
    });
  });
}
