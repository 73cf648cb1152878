/** Every refusal of the specification's table, over HTTP in each framework: status, body, header and access event. */

import { expect } from 'chai';
import { describeRefusal, refusalReasons } from '../../../../../adapters/sdk/tool-server/core/refusal.ts';
import type {
  RefusalReason,
  ToolServer,
  ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { byLength } from '../../../../support/length.ts';
import { planeForEachTest, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import { patternOf, startDecidedApp } from '../../../../support/tool-server/decided-app.ts';
import {
  type Framework,
  frameworks,
  GUARDED,
  type GuardedApp,
  POLICIES,
} from '../../../../support/tool-server/guarded-apps.ts';
import {
  FAULTY,
  FORGOTTEN,
  type GuardedMcp,
  startGuardedMcp,
  TOOLS,
} from '../../../../support/tool-server/guarded-mcp.ts';
import { startProxiedApp } from '../../../../support/tool-server/proxied-upstream.ts';
import { type RawAnswer, rawRequest } from '../../../../support/tool-server/raw-request.ts';
import {
  chain,
  expectRefusal,
  NOBODY,
  NOW,
  REALM,
  type RefusalCase,
  VERIFIED,
} from '../../../../support/tool-server/refusal-case.ts';
import { makeCaseKeys, refusalCases } from '../../../../support/tool-server/refusal-cases.ts';

/**
 * Calls that a person approves: approvals.test.ts, and that of MCP. Bodies that are held: `../guard/held-bodies.test.ts`. Headers
 * of a message: `../mcp/headers.test.ts`.
 */
const OF_BODIES = refusalReasons.filter((reason) =>
  /^approval_|^too_many_pending$|_body$|^body_|^overloaded$|^headers_differ$/.test(reason),
);

/** The token is checked before the body is read, which names the tool. */
const BEFORE_BODY = refusalReasons.filter(
  (reason) =>
    reason === 'keys_unavailable' ||
    (describeRefusal(reason).status === 401 && reason !== 'no_actor' && reason !== 'not_active'),
);

const AT = new Date(NOW * 1000 + 250).toISOString();
const METADATA = 'https://jira.example/.well-known/oauth-protected-resource/api';

type Headers = readonly (readonly [string, string])[];

/** The target of a request. `route` is a key of `POLICIES`, or the name of an MCP tool that has no such key. */
interface Target {
  readonly route: string;
  readonly path: string;
}

interface Surface {
  readonly name: string;
  readonly cases: readonly RefusalCase[];
  /** The reasons with which this surface never refuses. */
  readonly unused: readonly RefusalReason[];
  start(toolServer: ToolServer): Promise<GuardedApp & Partial<GuardedMcp>>;
  send(app: GuardedApp, target: Target, headers: Headers, query?: string): Promise<RawAnswer>;
  /** The claims that the handler wrote into its answer. */
  claimsIn(answer: RawAnswer): unknown;
  /** The route that the access event names. `reason` is undefined for an allowed request. */
  routeInEvent(target: Target, reason?: RefusalReason): string | null;
  /** The last parameters of WWW-Authenticate, after error_description. */
  challenge(target: Target, reason: RefusalReason): string;
}

const web = (framework: Framework): Surface => ({
  name: framework.name,
  cases: refusalCases,
  unused: [
    'malformed_request',
    'unknown_tool',
    'arguments_refused',
    'policy_unavailable',
    'internal_error',
    ...OF_BODIES,
  ],
  start: framework.start,
  send: (app, { route, path }, headers, query = '') =>
    rawRequest(`${app.url}${path}${query}`, route.split(' ')[0] ?? '', headers),
  claimsIn: ({ body }) => JSON.parse(body),
  routeInEvent: ({ route, path }) =>
    route.endsWith(' ') || (path === '/forgotten' && !framework.knowsForgotten) ? null : route,
  challenge: () => '',
});

const decided: Surface = {
  ...web({ name: 'the guard that a gateway asks', knowsForgotten: false, start: startDecidedApp }),
  routeInEvent: ({ route, path }) => (route.endsWith(' ') || path === '/forgotten' ? null : patternOf(route)),
};

const proxied: Surface = {
  ...decided,
  name: 'the guard in front of a server',
  start: startProxiedApp,
};

const toolOf = (route: string) => (Object.hasOwn(TOOLS, route) ? TOOLS[route as keyof typeof TOOLS] : route);

const mcp: Surface = {
  name: 'MCP',
  cases: [
    ...refusalCases.filter(({ reason }) => reason !== 'unknown_route'),
    { reason: 'unknown_tool', what: 'an unknown tool', route: 'no_such_tool', known: VERIFIED },
    { reason: 'unknown_tool', what: 'a tool without a policy', route: FORGOTTEN, known: VERIFIED },
    { reason: 'unknown_tool', what: 'a name that every object has', route: 'constructor', known: VERIFIED },
    { reason: 'policy_unavailable', what: 'a policy that throws', route: FAULTY, known: VERIFIED },
  ],
  // A result of the protocol: ../mcp/arguments.test.ts.
  unused: ['malformed_request', 'unknown_route', 'arguments_refused', 'internal_error', ...OF_BODIES],
  start: startGuardedMcp,
  send(app, { route }, headers, query = '') {
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: toolOf(route), arguments: {} } };
    const fixed: Headers = [
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
    ];
    return rawRequest(`${app.url}/mcp${query}`, 'POST', [...fixed, ...headers], JSON.stringify(message));
  },
  claimsIn({ body }) {
    const [, text = ''] = /"text":("(?:[^"\\]|\\.)*")/.exec(body) ?? [];
    return JSON.parse(JSON.parse(text));
  },
  // The message of a client stays unread until its token is checked.
  routeInEvent: ({ route }, reason) => (reason !== undefined && BEFORE_BODY.includes(reason) ? null : toolOf(route)),
  challenge({ route }, reason) {
    if (BEFORE_BODY.includes(reason)) return `, resource_metadata="${METADATA}"`;
    const { scope } = POLICIES[route as keyof typeof POLICIES] ?? {};
    const isHelped = reason === 'insufficient_scope' || describeRefusal(reason).status === 401;
    const needed = isHelped && scope ? `, scope="${scope.join(' ')}"` : '';
    return `${needed}, resource_metadata="${METADATA}"`;
  },
};

const proxiedMcp: Surface = {
  ...mcp,
  name: 'the guard in front of an MCP server',
  // A file has no function that decides about arguments.
  cases: mcp.cases.filter(({ reason }) => reason !== 'policy_unavailable'),
  unused: [...mcp.unused, 'policy_unavailable'],
  start: (toolServer) => startGuardedMcp(toolServer, { proxied: true }),
};

const surfaces = [...frameworks.map(web), decided, proxied, mcp, proxiedMcp];

/**
 * At full length all cases. Otherwise those that only this surface has, and every second of the others, in turn: all of them
 * take the same way through the core of the library, which each surface calls in one place.
 */
const casesOf = (surface: Surface) =>
  surface.cases.filter((one, nth) =>
    byLength({
      short: !refusalCases.includes(one) || (nth + surfaces.indexOf(surface)) % 2 === 0,
      full: true,
    }),
  );

for (const surface of surfaces) {
  describe(`A tool server on ${surface.name}`, () => {
    const fixture = planeForEachTest(() => NOW);
    const { events } = fixture;
    let app: Awaited<ReturnType<Surface['start']>>;

    // Does not print errors: a test sees an unexpected error as status 500.
    const quiet = { onError: () => undefined };
    async function start(options: Partial<ToolServerOptions> = {}): Promise<void> {
      app = await surface.start(
        fixture.toolServer({ realm: REALM, now: () => NOW * 1000 + 250, ...quiet, ...options }),
      );
    }
    before(makeCaseKeys);
    beforeEach(() => start());
    afterEach(() => app.stop());

    const issue: Target = { route: GUARDED, path: '/issues/OPS-7' };
    const deletion: Target = { ...issue, route: 'DELETE /issues/:key' };
    const bearer = (claims = {}): Headers => [['Authorization', `Bearer ${fixture.plane.token(claims)}`]];

    for (const one of casesOf(surface)) {
      const { reason, what, known = NOBODY } = one;
      const target = { ...issue, ...(one.route && { route: one.route }), ...(one.path && { path: one.path }) };
      it(`refuses a request with ${reason}: ${what}`, async () => {
        const { plane } = fixture;
        await one.prepare?.(plane);
        if (one.options !== undefined) {
          await app.stop();
          await start(one.options);
        }
        const token = one.token?.(plane) ?? plane.token();
        const headers = one.headers?.(plane) ?? [['Authorization', `bearer ${token}`]];
        const answer = await surface.send(app, target, headers, `?access_token=${plane.token()}`);

        expectRefusal(answer, one, surface.challenge(target, reason));
        expect(app.called ?? []).to.deep.equal([]);
        const route = surface.routeInEvent(target, reason);
        expect(events).to.deep.equal([{ event: 'tool.access', at: AT, route, decision: 'deny', reason, ...known }]);
        const shown = JSON.stringify([events, answer.body, answer.headers]);
        for (const part of token.split('.').filter((text) => text.length > 20)) expect(shown).not.to.include(part);
        expect(shown).not.to.include('access_token').and.not.to.include(plane.key.publicJwk.x);
      });
    }

    const board: Target = { route: 'GET /boards/:board', path: '/boards/1' };
    const sprint: Target = { route: 'GET /sprints/:sprint', path: '/sprints/9' };
    const comments: Target = { route: 'POST /issues/:key/comments', path: '/issues/OPS-7/comments' };
    const person = { ...NOBODY, sub: 'ada', task_id: TASK_ID, jti: VERIFIED.jti };
    const { instance: _, ...withoutInstance } = VERIFIED;
    for (const [what, claims, target, known, actors] of [
      ['a valid token', {}, issue, VERIFIED],
      ['an exp within the clock skew', { exp: NOW - 59 }, issue, VERIFIED],
      ['an iat and an nbf within the clock skew', { iat: NOW + 60, nbf: NOW + 60 }, issue, VERIFIED],
      ['a person without an agent, where the policy requires none', { act: undefined }, board, person],
      [
        'three hops, where the policy accepts three',
        { act: chain(3, 2, 1) },
        sprint,
        { ...withoutInstance, act: 'agent:hop-0', depth: 3 },
        ['agent:hop-0', 'agent:hop-1', 'agent:hop-2'],
      ],
      ['all of several required scopes', {}, comments, VERIFIED],
      ['an active token, where the policy is high-risk', {}, deletion, VERIFIED],
      ['an active token with introspect_required', { introspect_required: true }, issue, VERIFIED],
      ['a token without a task', { task: undefined }, issue, { ...VERIFIED, task_id: null }],
    ] as const) {
      it(`allows a request with ${what}, and passes the claims to its handler`, async () => {
        const answer = await surface.send(
          app,
          target,
          [['Authorization', `BEARER ${fixture.plane.token(claims)}`]],
          '?q=1',
        );
        expect(answer.status, answer.body).to.equal(200);
        expect(surface.claimsIn(answer)).to.deep.equal({
          sub: 'ada',
          agent: known.act,
          ...(actors && { chain: actors }),
          scope: ['jira:read', 'jira:comment'],
          task: known.task_id,
        });
        if (app.called !== undefined) expect(app.called).to.deep.equal([toolOf(target.route)]);
        const route = surface.routeInEvent(target);
        expect(events).to.deep.equal([
          { event: 'tool.access', at: AT, route, decision: 'allow', reason: null, ...known },
        ]);
        const isIntrospected = target === deletion || 'introspect_required' in claims;
        expect(fixture.plane.asked('/oauth2/introspect')).to.equal(isIntrospected ? 1 : 0);
      });
    }

    it('refuses a token with 503 when its introspection is not answered in time', async () => {
      await app.stop();
      await start({ timeoutMs: 2000 });
      // The tool server caches the keys now, so only the introspection below takes time.
      expect((await surface.send(app, issue, bearer())).status).to.equal(200);
      events.splice(0);
      fixture.plane.answerIntrospection = () => undefined;
      expectRefusal(await surface.send(app, deletion, bearer()), { reason: 'introspection_unavailable' });
      expect(events.map((event) => [event.reason, event.sub])).to.deep.equal([['introspection_unavailable', 'ada']]);
    });

    it('refuses a request with a bare 500 when its event cannot be written', async () => {
      await app.stop();
      const errors: unknown[] = [];
      const fault = new Error('The log is full.');
      await start({ onAccess: () => Promise.reject(fault), onError: (error) => void errors.push(error) });
      const answer = await surface.send(app, issue, bearer());
      expect([answer.status, answer.body]).to.deep.equal([500, '{"error":"server_error"}']);
      expect(answer.headers['www-authenticate']).to.equal(undefined);
      expect(errors).to.deep.equal([fault]);
      expect(app.called ?? []).to.deep.equal([]);
    });

    it('has a case for each reason that it can refuse with', () => {
      const expected = refusalReasons.filter((reason) => !surface.unused.includes(reason));
      expect([...new Set(surface.cases.map(({ reason }) => reason))]).to.have.members(expected);
    });

    // test/adapters/sdk/tool-server/guard tests the guard for what follows.
    if (!frameworks.some(({ name }) => name === surface.name)) return;

    it('refuses a request without a token before it shows whether the route exists', async () => {
      const answer = await rawRequest(`${app.url}/forgotten`, 'GET', []);
      expect([answer.status, JSON.parse(answer.body).reason]).to.deep.equal([401, 'missing_token']);
      expect((await rawRequest(`${app.url}/healthz`, 'GET', [])).body).to.equal('Healthy');
      expect((await rawRequest(`${app.url}/healthz`, 'HEAD', [])).status).to.equal(200);
    });

    it('applies the policy of the GET route to a HEAD request', async () => {
      const head = { ...issue, route: 'HEAD /issues/:key' };
      expect((await surface.send(app, head, [])).status).to.equal(401);
      expect((await surface.send(app, head, bearer())).status).to.equal(200);
      expect(events.map(({ route, decision }) => [route, decision])).to.deep.equal([
        ['HEAD /issues/:key', 'deny'],
        ['HEAD /issues/:key', 'allow'],
      ]);
    });
  });
}
