/**
 * The guards of all pages, forms and feeds of both browsers: the console's and those of `/me`. The suite walks their lists, and
 * its surfaces throw when they are read: a refused request has read nothing.
 */

import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import express from 'express';
import { type AdminRoute, adminRoutes } from '../../../../adapters/http/admin/roles.ts';
import { fillPath } from '../../../../adapters/http/browser/paths.ts';
import { type ConsoleSurface, consoleRouter } from '../../../../adapters/http/console/console-router.ts';
import type { Screen } from '../../../../adapters/http/console/context.ts';
import { consoleCookies } from '../../../../adapters/http/console/cookies.ts';
import { screens } from '../../../../adapters/http/console/screens.ts';
import { meCookies } from '../../../../adapters/http/me/cookies.ts';
import type { MeSurfaces } from '../../../../adapters/http/me/me-routes.ts';
import { meRoutes } from '../../../../adapters/http/me/me-routes.ts';
import { pagesOf } from '../../../../adapters/http/me/page-router.ts';
import { type OperatorPerson, type OperatorRole, operatorRoles } from '../../../../domain/operators/operator.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { closeServer, listen } from '../../../support/listening.ts';
import { type Answer, encodeForm, sendTo } from '../../../support/mandate.ts';

const SECRET = 's'.repeat(43);
const FORM_TOKEN = 'the-form-token';
const IDS = {
  taskId: 'task_01M31S7W68TMK7WDX8YKPSYTEA',
  approvalId: 'approval_01KAY3Q4W8E6ZP0V5S9N2B7DTF',
  agentId: 'no-such-agent',
  seq: '1',
};

const POLICY = [
  ...["default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
];

type Use = 'page' | 'feed' | 'form' | 'fileForm';

interface Route {
  readonly use: Use;
  readonly path: string;
  /** Where a browser goes that opens the address of a form. */
  readonly leadsTo: string;
  /** The route of the API that decides the role. */
  readonly needs?: string;
}

interface Served {
  readonly server: Server;
  readonly at: string;
  readonly routes: readonly Route[];
  /** Stands before every path in an address. */
  readonly base: string;
  readonly origin: string;
  readonly signIn: string;
  readonly cookie: string;
  /** A page that reads next to nothing. */
  readonly simple: string;
  /** The reasons, or routes, that were recorded since the last look. */
  recorded(): readonly string[];
  /** The roles of the session. `undefined` where there are no roles. */
  roles: readonly OperatorRole[] | undefined;
}

const isRead = ({ use }: Route) => use === 'page' || use === 'feed';

/** A part of a surface, which no refused request may read. */
function unread<Part extends object>(): Part {
  return new Proxy({} as Part, {
    get(_part, name) {
      throw new Error(`${String(name)} was read`);
    },
  });
}

function routesOf(pages: readonly Pick<Screen, 'path' | 'back' | 'forms' | 'fileForms' | 'feeds'>[]): readonly Route[] {
  return pages.flatMap((page) => {
    const leadsTo = page.back ?? page.path;
    const rowsOf = (use: Use, rows: readonly object[]) =>
      rows.map((row) => {
        const { path, route } = row as { readonly path: string; readonly route?: string };
        return { use, path: fillPath(path, IDS), leadsTo: fillPath(leadsTo, IDS), ...(route && { needs: route }) };
      });
    return [
      ...rowsOf('page', [page]),
      ...rowsOf('feed', Object.values(page.feeds ?? {})),
      ...rowsOf('form', Object.values(page.forms ?? {})),
      ...rowsOf('fileForm', Object.values(page.fileForms ?? {})),
    ];
  });
}

async function serve(make: (app: express.Express, records: string[]) => Omit<Served, 'server' | 'at' | 'recorded'>) {
  const app = express();
  app.set('query parser', false);
  const records: string[] = [];
  const site = make(app, records);
  const server = createServer(app);
  const at = `http://127.0.0.1:${await listen(server, 0)}`;
  return Object.assign(site, { server, at, recorded: () => records.splice(0) });
}

const serveConsole = () =>
  serve((app, records) => {
    const site = {
      routes: routesOf(Object.values<Screen>(screens)),
      base: '',
      origin: 'https://console.test',
      signIn: '/sign-in',
      cookie: consoleCookies.sessionName,
      simple: '/doctor',
      roles: ['viewer', 'auditor', 'registrar', 'responder'] as readonly OperatorRole[] | undefined,
    };
    const holder = (): OperatorPerson => ({
      kind: 'person',
      issuer: 'https://login.example',
      subject: 'olga',
      sponsorKey: 'olga',
      roles: site.roles ?? [],
    });
    const find = async (cookies: string) =>
      consoleCookies.sessionSecret(cookies) === SECRET ? { holder: holder(), formToken: FORM_TOKEN } : undefined;
    app.use(
      consoleRouter({
        origin: site.origin,
        admin: { operators: undefined } as unknown as ConsoleSurface['admin'],
        audit: unread(),
        views: unread(),
        overview: unread(),
        sessions: { find, peek: find },
        examine: async () => ({ findings: [], at: NOON }),
        refuseRole: async (_operator, route) => void records.push(route),
        refuse: async (reason) => void records.push(reason),
        clock: { now: () => NOON },
        log: capturedLog(),
      }),
    );
    return site;
  });

const serveMe = () =>
  serve((app, records) => {
    const approvals = unread<NonNullable<MeSurfaces['api']['approvals']>>();
    const delegation = unread<NonNullable<MeSurfaces['api']['delegation']>>();
    const api = {
      issuer: 'https://mandate.test/tenant',
      validate: undefined,
      sessions: {
        find: async (cookies: string) =>
          meCookies.sessionSecret(cookies) === SECRET
            ? { holder: { sponsorKey: 'ada' }, formToken: FORM_TOKEN }
            : undefined,
      },
      mayResume: async () => true,
      refuse: async (reason: string) => void records.push(reason),
      approvals,
      delegation,
      log: capturedLog(),
    } as unknown as MeSurfaces['api'];
    const page: MeSurfaces['page'] = {
      clock: { now: () => NOON },
      sessionTtl: 900,
      scopeWords: new Map(),
      statusLists: undefined,
    };
    app.use('/me', meRoutes({ api, signIn: undefined, page }).router);
    return {
      routes: routesOf(pagesOf({ approvals, delegation }) as unknown as readonly Screen[]),
      base: '/tenant',
      origin: 'https://mandate.test',
      signIn: '/me/sign-in',
      cookie: meCookies.sessionName,
      simple: '/me/resume',
      roles: undefined,
    };
  });

for (const [name, start] of Object.entries({ 'The console': serveConsole, 'The pages of /me': serveMe })) {
  describe(`${name}, at every address`, () => {
    let site: Served;
    before(async () => {
      site = await start();
    });
    after(() => closeServer(site.server));

    const of = (...uses: readonly Use[]) => site.routes.filter(({ use }) => uses.includes(use));
    const session = () => `${site.cookie}=${SECRET}`;
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      sendTo(`${site.at}${path}`, { method, headers: { accept: 'text/html', ...headers } });

    /** Sends a form as its page does. @param token `undefined` leaves the form token out */
    const post = (
      { use, path }: Route,
      headers: Record<string, string> = {},
      token: string | undefined = FORM_TOKEN,
    ) => {
      const own = { accept: 'text/html', cookie: session(), origin: site.origin, ...headers };
      if (use === 'form') {
        const type = { 'content-type': 'application/x-www-form-urlencoded' };
        const body = encodeForm({ ...(token !== '' && { form_token: token }), reason: 'An incident', typed: 'x' });
        return sendTo(`${site.at}${path}`, { method: 'POST', headers: { ...type, ...own }, body });
      }
      const body = new FormData();
      if (token !== '') body.set('form_token', token);
      body.set('file', new Blob(['agents: []']), 'agents.yaml');
      return sendTo(`${site.at}${path}`, { method: 'POST', headers: own, body });
    };

    /** The answer is a page of this status that no cache keeps and that runs nothing from elsewhere. */
    function expectPage({ status, headers, text }: Answer, expected: number, what: string): void {
      expect([status, headers.get('content-type'), headers.get('cache-control')], what).to.deep.equal([
        ...[expected, 'text/html; charset=utf-8', 'no-store'],
      ]);
      expect(headers.get('content-security-policy')?.split('; '), what).to.have.members(POLICY);
      for (const header of ['cross-origin-opener-policy', 'cross-origin-resource-policy'])
        expect(headers.get(header), what).to.equal('same-origin');
      expect(text, what).not.to.match(/ style=| on\w+="/);
    }

    it('has each path once for a method, and each kind of row', () => {
      const reads = of('page', 'feed').map(({ path }) => path);
      const writes = of('form', 'fileForm').map(({ path }) => path);
      for (const paths of [reads, writes]) expect(new Set(paths).size).to.equal(paths.length).and.be.above(4);
    });

    it('sends a browser without a session to the sign-in, and records nothing', async () => {
      for (const { path } of of('page', 'feed')) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await get(path, {}, method);
          expect(answer.status, path).to.equal(302);
          expect(answer.headers.get('location'), path).to.match(new RegExp(`^${site.base}${site.signIn}(\\?to=|$)`));
        }
      }
      expect(site.recorded()).to.deep.equal([]);
    });

    it('accepts neither of two session cookies, and sends no browser to a sign-in that would add another', async () => {
      const cookie = `${site.cookie}=${'o'.repeat(43)}; ${session()}`;
      for (const route of site.routes) {
        expectPage(isRead(route) ? await get(route.path, { cookie }) : await post(route, { cookie }), 400, route.path);
        expect(site.recorded(), route.path).to.deep.equal(['missing_token']);
      }
    });

    it('refuses a form without a session before it looks at its origin and its token', async () => {
      for (const route of of('form', 'fileForm')) {
        for (const [cookie, token] of [
          ['', FORM_TOKEN],
          [`${site.cookie}=${'o'.repeat(43)}`, 'guessed'],
        ] as const) {
          expectPage(await post(route, { cookie, origin: 'https://evil.example' }, token), 401, route.path);
          expect(site.recorded(), route.path).to.deep.equal(['missing_token']);
        }
      }
    });

    it('refuses a form from another origin, or without its form token, whatever the role', async () => {
      site.roles &&= [];
      const foreign: readonly (readonly [headers: Record<string, string>, token?: string])[] = [
        [{ origin: 'https://evil.example' }],
        [{ origin: 'null' }],
        [{ 'sec-fetch-site': 'same-site' }],
        [{ 'sec-fetch-site': 'none' }],
        [{}, 'guessed'],
        [{}, ''],
      ];
      for (const route of of('form', 'fileForm')) {
        for (const [headers, token] of foreign) {
          expectPage(await post(route, headers, token), 403, route.path);
          expect(site.recorded(), route.path).to.deep.equal(['invalid_form_token']);
        }
      }
    });

    it('answers its feeds to scripts of its own pages only, whatever the role', async () => {
      site.roles &&= [];
      const sites = ['cross-site', 'same-site', 'none'].map((from) => ({ 'sec-fetch-site': from }));
      const origins = ['https://evil.example', 'null', ''].map((origin) => ({ origin }));
      for (const { path } of of('feed')) {
        for (const headers of [...sites, ...origins]) {
          const { status, headers: answered } = await get(path, { cookie: session(), ...headers });
          expect([status, answered.get('content-type')]).to.deep.equal([
            403,
            'application/problem+json; charset=utf-8',
          ]);
          expect(site.recorded(), path).to.deep.equal(['invalid_form_token']);
        }
      }
    });

    it('refuses each role that the route of the API refuses, records it, and reads nothing before', async () => {
      if (site.roles === undefined) return;
      for (const role of [undefined, ...operatorRoles]) {
        site.roles = role === undefined ? [] : [role];
        for (const route of site.routes) {
          const needed = adminRoutes[route.needs as AdminRoute];
          if (role !== undefined && (needed === 'viewer' || needed === role)) continue;
          for (const method of isRead(route) ? ['GET', 'HEAD'] : ['POST']) {
            const answer = isRead(route) ? await get(route.path, { cookie: session() }, method) : await post(route);
            expectPage(answer, 403, `${role} ${route.path}`);
            expect(site.recorded(), route.path).to.deep.equal([route.needs]);
          }
        }
      }
    });

    it('shows a page with the headers of its refusals, sends its origin with forms, and has files that browsers keep', async () => {
      const answer = await get(site.simple, { cookie: session() });
      expectPage(answer, 200, site.simple);
      // With `no-referrer` a browser would send `Origin: null` with a form.
      expect(answer.headers.get('referrer-policy')).to.equal('same-origin');
      const style = /<link rel="stylesheet" href="([^"]+)"/.exec(answer.text)?.[1] ?? '';
      const { status, headers } = await get(style.slice(site.base.length));
      expect([status, headers.get('cache-control')]).to.deep.equal([200, 'public, max-age=31536000, immutable']);
    });

    it('leads a browser from the address of a form to its page, with and without a session', async () => {
      const pages = of('page').map(({ path }) => path);
      for (const { path, leadsTo } of of('form', 'fileForm')) {
        if (pages.includes(path)) continue;
        for (const cookie of ['', session()]) {
          const { status, headers } = await get(path, { cookie });
          expect([status, headers.get('location')], path).to.deep.equal([302, `${site.base}${leadsTo}`]);
        }
      }
      expect(site.recorded()).to.deep.equal([]);
    });
  });
}

describe('The console, at every address', () => {
  let site: Served;
  before(async () => {
    site = await serveConsole();
  });
  after(() => closeServer(site.server));

  it('answers 405 for every other method, names the methods of the path, and records nothing', async () => {
    const headers = { accept: 'text/html', cookie: `${site.cookie}=${SECRET}` };
    for (const route of site.routes) {
      // The last one is no method of a page. Node refuses methods that it does not know, before the console sees them.
      const others = ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', ...(isRead(route) ? ['POST'] : [])];
      for (const method of others) {
        const answer = await sendTo(`${site.at}${route.path}`, { method, headers });
        expect([answer.status, answer.headers.get('allow')], `${method} ${route.path}`).to.deep.equal([
          ...[405, isRead(route) ? 'GET, HEAD' : 'GET, HEAD, POST'],
        ]);
      }
    }
    expect(site.recorded()).to.deep.equal([]);
  });
});

describe('The pages of /me, beside its API', () => {
  let site: Served;
  before(async () => {
    site = await serveMe();
  });
  after(() => closeServer(site.server));

  it('leave a request with an access token to the API, and the form of a program too', async () => {
    const cookie = `${site.cookie}=${SECRET}`;
    for (const { use, path } of site.routes) {
      const method = use === 'page' ? 'GET' : 'POST';
      for (const headers of [
        { accept: 'text/html', cookie, authorization: 'Bearer x' },
        ...(use === 'page' ? [] : [{ cookie }]),
      ]) {
        const answer = await sendTo(`${site.at}${path}`, { method, headers });
        expect(answer.headers.get('content-type'), path).to.equal('application/problem+json; charset=utf-8');
        expect(answer.status, path).to.equal('authorization' in headers ? 401 : 403);
      }
    }
  });
});
