/** Every refusal of the specification's table, over real HTTP: status, body, header and access event. */

import { expect } from 'chai';
import { refusalReasons } from '../../../../../adapters/sdk/tool-server/core/refusal.ts';
import {
  type AccessEvent,
  createToolServer,
  type RefusalReason,
  type ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
  TASK_ID,
} from '../../../../support/tool-server/control-plane.ts';
import { frameworks, GUARDED, type GuardedApp } from '../../../../support/tool-server/guarded-apps.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';
import {
  chain,
  expectRefusal,
  makeCaseKeys,
  NOBODY,
  NOW,
  REALM,
  refusalCases,
  VERIFIED,
} from '../../../../support/tool-server/refusal-cases.ts';

for (const framework of frameworks) {
  describe(`a tool server on ${framework.name} refuses`, () => {
    let plane: FakeControlPlane;
    let app: GuardedApp;
    let events: AccessEvent[];

    async function start(options: Partial<ToolServerOptions> = {}): Promise<void> {
      const { issuer } = plane;
      app = await framework.start(
        createToolServer({
          ...{ issuer, audience: AUDIENCE, realm: REALM, now: () => NOW * 1000 + 250 },
          onAccess: (event) => void events.push(event),
          ...options,
        }),
      );
    }

    before(makeCaseKeys);
    beforeEach(async () => {
      plane = await startFakeControlPlane(() => NOW);
      events = [];
      await start();
    });
    afterEach(async () => {
      await app.stop();
      await plane.stop();
    });

    for (const one of refusalCases) {
      const { reason, what, route = GUARDED, path = '/issues/OPS-7', known = NOBODY } = one;
      it(`${reason}: ${what}`, async () => {
        one.prepare?.(plane);
        const token = one.token?.(plane) ?? plane.token();
        const headers = one.headers?.(plane) ?? [['Authorization', `bearer ${token}`]];
        const [method = ''] = route.split(' ');
        const answer = await rawRequest(`${app.url}${path}?access_token=${plane.token()}`, method, headers);

        expectRefusal(answer, one);
        const at = new Date(NOW * 1000 + 250).toISOString();
        const isNamed = !route.endsWith(' ') && (path !== '/forgotten' || framework.knowsForgotten);
        const name = isNamed ? route : null;
        expect(events).to.deep.equal([{ event: 'tool.access', at, route: name, decision: 'deny', reason, ...known }]);
        const told = JSON.stringify([events, answer.body, answer.headers]);
        for (const part of token.split('.').filter((text) => text.length > 20)) expect(told).not.to.include(part);
        expect(told).not.to.include('access_token').and.not.to.include(plane.key.publicJwk.x);
      });
    }

    it('no valid token, and returns its claims', async () => {
      const answer = await rawRequest(`${app.url}/issues/OPS-7?q=1`, 'GET', [
        ['Authorization', `BEARER ${plane.token()}`],
      ]);
      expect(answer.status).to.equal(200);
      expect(JSON.parse(answer.body)).to.deep.equal({
        ...{ sub: 'ada', agent: 'agent:triage', scope: ['jira:read', 'jira:comment'], task: TASK_ID },
      });
      const at = new Date(NOW * 1000 + 250).toISOString();
      expect(events).to.deep.equal([
        { event: 'tool.access', at, route: GUARDED, decision: 'allow', reason: null, ...VERIFIED },
      ]);
      expect(plane.asked('/oauth2/introspect')).to.equal(0);
    });

    for (const [what, claims, method, path] of [
      ['an exp within the skew', { exp: NOW - 59 }, 'GET', '/issues/OPS-7'],
      ['an iat and nbf within the skew', { iat: NOW + 60, nbf: NOW + 60 }, 'GET', '/issues/OPS-7'],
      ['a person, where the route asks for no actor', { act: undefined }, 'GET', '/boards/1'],
      ['three hops, where the route accepts three', { act: chain(3, 2, 1) }, 'GET', '/sprints/9'],
      ['every scope of several', {}, 'POST', '/issues/OPS-7/comments'],
      ['an active token on a high-risk route', {}, 'DELETE', '/issues/OPS-7'],
      ['an active token with introspect_required', { introspect_required: true }, 'GET', '/issues/OPS-7'],
      ['a token without a task', { task: undefined }, 'GET', '/issues/OPS-7'],
    ] as const) {
      it(`no request with ${what}`, async () => {
        const answer = await rawRequest(`${app.url}${path}`, method, [
          ['Authorization', `Bearer ${plane.token(claims)}`],
        ]);
        expect(answer.status, answer.body).to.equal(200);
        expect(events.map((event) => event.decision)).to.deep.equal(['allow']);
        const asks = method === 'DELETE' || 'introspect_required' in claims;
        expect(plane.asked('/oauth2/introspect')).to.equal(asks ? 1 : 0);
      });
    }

    it('a request without a token for any protected route, before it shows whether the route exists', async () => {
      const answer = await rawRequest(`${app.url}/forgotten`, 'GET', []);
      expect([answer.status, JSON.parse(answer.body).reason]).to.deep.equal([401, 'missing_token']);
      expect((await rawRequest(`${app.url}/healthz`, 'GET', [])).body).to.equal('Healthy');
      expect((await rawRequest(`${app.url}/healthz`, 'HEAD', [])).status).to.equal(200);
    });

    it('a HEAD like the GET it stands for', async () => {
      const refused = await rawRequest(`${app.url}/issues/OPS-7`, 'HEAD', []);
      expect(refused.status).to.equal(401);
      const allowed = await rawRequest(`${app.url}/issues/OPS-7`, 'HEAD', [
        ['Authorization', `Bearer ${plane.token()}`],
      ]);
      expect(allowed.status).to.equal(200);
      expect(events.map(({ route, decision }) => [route, decision])).to.deep.equal([
        ['HEAD /issues/:key', 'deny'],
        ['HEAD /issues/:key', 'allow'],
      ]);
    });

    it('a token whose introspection is not answered in time', async () => {
      await app.stop();
      await start({ timeoutMs: 2000 });
      const headers = [['Authorization', `Bearer ${plane.token()}`]] as const;
      // The keys are cached by now, so only introspection takes time.
      expect((await rawRequest(`${app.url}/issues/OPS-7`, 'GET', headers)).status).to.equal(200);
      events.splice(0);
      plane.answerIntrospection = () => undefined;
      const answer = await rawRequest(`${app.url}/issues/OPS-7`, 'DELETE', headers);
      expect([answer.status, JSON.parse(answer.body).reason]).to.deep.equal([503, 'introspection_unavailable']);
      expect(events.map((event) => [event.reason, event.sub])).to.deep.equal([['introspection_unavailable', 'ada']]);
    });

    it('every request with a bare 500 when its event cannot be written', async () => {
      await app.stop();
      const errors: unknown[] = [];
      const fault = new Error('The log is full.');
      await start({ onAccess: () => Promise.reject(fault), onError: (error) => void errors.push(error) });
      const answer = await rawRequest(`${app.url}/issues/OPS-7`, 'GET', [['Authorization', `Bearer ${plane.token()}`]]);
      expect([answer.status, answer.body]).to.deep.equal([500, '{"error":"server_error"}']);
      expect(answer.headers['www-authenticate']).to.equal(undefined);
      expect(errors).to.deep.equal([fault]);
    });
  });
}

describe('the cases of this suite', () => {
  it('cover every reason a web framework can refuse with', () => {
    const others: readonly RefusalReason[] = ['unknown_tool', 'internal_error'];
    const expected = refusalReasons.filter((reason) => !others.includes(reason));
    expect([...new Set(refusalCases.map(({ reason }) => reason))]).to.have.members(expected);
  });
});
