/** Every refusal of the specification's table, at a real MCP server: status, body, header and access event. */

import { expect } from 'chai';
import { refusalReasons } from '../../../../../adapters/sdk/tool-server/core/refusal.ts';
import {
  type AccessEvent,
  createToolServer,
  type RefusalReason,
  type ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { describeVectors } from '../../../../support/public-vectors.ts';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
  TASK_ID,
} from '../../../../support/tool-server/control-plane.ts';
import { POLICIES } from '../../../../support/tool-server/guarded-apps.ts';
import { FORGOTTEN, type GuardedMcp, startGuardedMcp, TOOLS } from '../../../../support/tool-server/guarded-mcp.ts';
import { type RawAnswer, rawRequest } from '../../../../support/tool-server/raw-request.ts';
import {
  chain,
  expectRefusal,
  makeCaseKeys,
  NOBODY,
  NOW,
  REALM,
  type RefusalCase,
  refusalCases,
  VERIFIED,
} from '../../../../support/tool-server/refusal-cases.ts';

const METADATA = 'https://jira.example/.well-known/oauth-protected-resource/api';
const AT = new Date(NOW * 1000 + 250).toISOString();

const unknownTools: readonly (RefusalCase & { readonly route: string })[] = [
  { reason: 'unknown_tool', what: 'a tool that is not there', route: 'no_such_tool', known: VERIFIED },
  { reason: 'unknown_tool', what: 'a tool with a forgotten policy', route: FORGOTTEN, known: VERIFIED },
  { reason: 'unknown_tool', what: 'a name that objects have', route: 'constructor', known: VERIFIED },
];

const cases = [
  ...refusalCases.filter(({ reason }) => reason !== 'unknown_route').map((one) => ({ ...one, route: toolOf(one) })),
  ...unknownTools,
];

function toolOf({ route = 'GET /issues/:key' }: RefusalCase): string {
  const [, tool] = Object.entries(TOOLS).find(([name]) => name === route) ?? [];
  if (tool === undefined) throw new Error(`no tool is ${route}`);
  return tool;
}

describe('a guarded MCP server refuses', () => {
  let plane: FakeControlPlane;
  let app: GuardedMcp;
  let events: AccessEvent[];

  async function start(options: Partial<ToolServerOptions> = {}): Promise<void> {
    app = await startGuardedMcp(
      createToolServer({
        ...{ issuer: plane.issuer, audience: AUDIENCE, realm: REALM, now: () => NOW * 1000 + 250 },
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

  function call(tool: string, headers: readonly (readonly [string, string])[], query = ''): Promise<RawAnswer> {
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: tool, arguments: {} } };
    const fixed = [
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
    ] as const;
    return rawRequest(`${app.endpoint}${query}`, 'POST', [...fixed, ...headers], JSON.stringify(message));
  }
  const bearer = (token: string) => [['Authorization', `Bearer ${token}`]] as const;

  for (const one of cases) {
    const { reason, what, route, known = NOBODY } = one;
    it(`${reason}: ${what}`, async () => {
      one.prepare?.(plane);
      const token = one.token?.(plane) ?? plane.token();
      const headers = one.headers?.(plane) ?? [['Authorization', `bearer ${token}`]];
      const answer = await call(route, headers, `?access_token=${plane.token()}`);

      const asked = Object.entries(TOOLS).find(([, tool]) => tool === route)?.[0] as keyof typeof POLICIES | undefined;
      const scope =
        asked !== undefined && reason === 'insufficient_scope' ? `, scope="${POLICIES[asked].scope.join(' ')}"` : '';
      expectRefusal(answer, one, `${scope}, resource_metadata="${METADATA}"`);
      expect(app.called).to.deep.equal([]);
      // Without a token the body is not read, so the tool is unknown.
      const named = reason === 'missing_token' ? null : route;
      expect(events).to.deep.equal([
        { event: 'tool.access', at: AT, route: named, decision: 'deny', reason, ...known },
      ]);
      const told = JSON.stringify([events, answer.body, answer.headers]);
      for (const part of token.split('.').filter((text) => text.length > 20)) expect(told).not.to.include(part);
      expect(told).not.to.include('access_token').and.not.to.include(plane.key.publicJwk.x);
    });
  }

  for (const [what, tool, claims] of [
    ['a good token', 'read_issue', {}],
    ['every scope of several', 'comment', {}],
    ['an active token of a high-risk tool', 'delete_issue', {}],
    ['a person, where the tool asks for no actor', 'read_board', { act: undefined }],
    ['three hops, where the tool accepts three', 'read_sprint', { act: chain(3, 2, 1) }],
    ['an active token with introspect_required', 'read_issue', { introspect_required: true }],
  ] as const) {
    it(`no call with ${what}, and gives its claims to the tool`, async () => {
      const answer = await call(tool, bearer(plane.token(claims)));
      expect(answer.status, answer.body).to.equal(200);
      const [, text = ''] = /"text":("(?:[^"\\]|\\.)*")/.exec(answer.body) ?? [];
      const agent = 'act' in claims ? (claims.act === undefined ? null : 'agent:hop-0') : 'agent:triage';
      expect(JSON.parse(JSON.parse(text))).to.deep.equal({
        ...{ sub: 'ada', agent, scope: ['jira:read', 'jira:comment'], task: TASK_ID },
      });
      expect(app.called).to.deep.equal([tool]);
      expect(events.map(({ route, decision, reason, sub }) => [route, decision, reason, sub])).to.deep.equal([
        [tool, 'allow', null, 'ada'],
      ]);
      const asks = tool === 'delete_issue' || 'introspect_required' in claims;
      expect(plane.asked('/oauth2/introspect')).to.equal(asks ? 1 : 0);
    });
  }

  it('a token whose introspection is not answered in time, with 503 and not with 500', async () => {
    await app.stop();
    await start({ timeoutMs: 2000 });
    // The keys are cached by now, so only introspection takes time.
    expect((await call('read_issue', bearer(plane.token({ scope: 'jira' })))).status).to.equal(403);
    events.splice(0);
    plane.answerIntrospection = () => undefined;
    expectRefusal(await call('delete_issue', bearer(plane.token())), { reason: 'introspection_unavailable' });
    expect(events.map((event) => [event.reason, event.sub])).to.deep.equal([['introspection_unavailable', 'ada']]);
  });

  it('every call with a bare 500 when its event cannot be written', async () => {
    await app.stop();
    const errors: unknown[] = [];
    const fault = new Error('The log is full.');
    await start({ onAccess: () => Promise.reject(fault), onError: (error) => void errors.push(error) });
    const answer = await call('read_issue', bearer(plane.token()));
    expect([answer.status, answer.body]).to.deep.equal([500, '{"error":"server_error"}']);
    expect(answer.headers['www-authenticate']).to.equal(undefined);
    expect(errors).to.deep.equal([fault]);
    expect(app.called).to.deep.equal([]);
  });

  describeVectors<{ readonly testGroups: readonly { readonly tests: readonly { readonly jws: string }[] }[] }>(
    'foreign signed tokens',
    'wycheproof_json_web_signature_test.json',
    ({ testGroups }) => {
      it('every one of them', async () => {
        const tokens = testGroups.flatMap(({ tests }) => tests.map(({ jws }) => jws));
        for (const token of tokens) {
          const answer = await call('read_issue', bearer(token));
          expect(answer.status, token).to.equal(401);
          expect(answer.headers['www-authenticate']).to.include(`resource_metadata="${METADATA}"`);
        }
        expect(tokens.length).to.be.greaterThan(100);
        expect(events.map(({ sub, jti, decision }) => `${sub} ${jti} ${decision}`)).to.deep.equal(
          tokens.map(() => 'null null deny'),
        );
      });
    },
  );
});

describe('the cases of this suite', () => {
  it('cover every reason an MCP server can refuse with', () => {
    const others: readonly RefusalReason[] = ['unknown_route', 'internal_error'];
    const expected = refusalReasons.filter((reason) => !others.includes(reason));
    expect([...new Set(cases.map(({ reason }) => reason))]).to.have.members(expected);
  });
});
