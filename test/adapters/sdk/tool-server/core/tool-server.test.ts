import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  createToolServer,
  type RoutePolicy,
  type ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { eventually } from '../../../../support/eventually.ts';
import { AUDIENCE, planeForEachTest, TOKEN_ID } from '../../../../support/tool-server/control-plane.ts';

const GOOD: ToolServerOptions = { issuer: 'https://mandate.example', audience: AUDIENCE, onAccess: () => undefined };

/** Takes untyped options, so that a test can pass wrong ones. */
function made(changes: object): () => unknown {
  return () => createToolServer({ ...GOOD, ...changes });
}

describe('createToolServer', () => {
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ['issuer', undefined, /issuer must be an absolute https URL/],
    ['issuer', 'mandate.example', /issuer must be an absolute https URL/],
    ['issuer', 'https://user@mandate.example', /issuer must be/],
    ['issuer', 'https://mandate.example/?tenant=1', /issuer must have no query/],
    ['issuer', 'https://mandate.example#x', /issuer must be/],
    ['issuer', 'http://mandate.example', /issuer must be https: plain http is for/],
    ['issuer', 'http://127.0.0.1.example', /issuer must be https/],
    ['issuer', 7, /issuer must be an absolute https URL/],
    ['audience', undefined, /audience must be an absolute http or https URL/],
    ['audience', '', /audience must be an absolute http or https URL/],
    ['audience', ' ', /audience must be an absolute http or https URL/],
    ['audience', [AUDIENCE], /audience must be/],
    ['clockSkewSeconds', -1, /clockSkewSeconds must be a whole number from 0 to 300/],
    ['clockSkewSeconds', 301, /clockSkewSeconds must be/],
    ['clockSkewSeconds', Number.NaN, /clockSkewSeconds must be/],
    ['requireActor', 'no', /requireActor must be true or false/],
    ['requireActor', null, /requireActor must be true or false/],
    ['maxDelegationDepth', 0, /maxDelegationDepth must be a whole number of 1 or more/],
    ['maxDelegationDepth', 1.5, /maxDelegationDepth must be a whole number of 1 or more/],
    ['maxDelegationDepth', Number.POSITIVE_INFINITY, /maxDelegationDepth must be/],
    ['timeoutMs', 0, /timeoutMs must be a whole number from 1 to 60000/],
    ['timeoutMs', 2 ** 31, /timeoutMs must be/],
    ['realm', '', /realm must be printable ASCII/],
    ['realm', 'a\r\nSet-Cookie: b', /realm must be printable ASCII/],
    ['statusList', true, /statusList must be an object/],
    ['statusList', null, /statusList must be an object/],
    ['statusList', [], /statusList must be an object/],
    ['statusList', { maxAgeMs: 999 }, /statusList\.maxAgeMs must be a whole number from 1000 to 600000/],
    ['statusList', { maxAgeMs: '10000' }, /statusList\.maxAgeMs must be/],
    ['statusList', { onStale: 'allow' }, /statusList\.onStale must be introspect or refuse/],
    [
      'statusList',
      { maxAge: 1000, onStale: 'x' },
      /statusList\.onStale must be.*; statusList\.maxAge is not an option/,
    ],
    ['onAccess', 'log', /onAccess must be a function/],
    ['fetch', {}, /fetch must be a function/],
    ['now', 7, /now must be a function/],
    ['requireActors', true, /requireActors is not an option/],
  ];
  for (const [name, value, message] of wrong) {
    it(`refuses the option ${name} ${inspect(value)} and says why`, () => {
      expect(made({ [name]: value })).to.throw(TypeError, message);
    });
  }

  it('reports all wrong options in one error', () => {
    expect(made({ issuer: '', audience: '', timeoutMs: 0 })).to.throw(TypeError, /issuer.*; audience.*; timeoutMs/);
  });

  for (const issuer of ['http://localhost:5100', 'http://127.0.0.1:5100', 'http://[::1]:5100', 'https://m.example/a']) {
    it(`accepts the issuer ${issuer}`, () => {
      expect(createToolServer({ ...GOOD, issuer }).issuer).to.equal(issuer);
    });
  }

  it('drops the last slash of an issuer, as the service does, and names the realm after the audience', () => {
    const { issuer, audience, realm } = createToolServer({ ...GOOD, issuer: 'https://mandate.example/' });
    expect([issuer, audience, realm]).to.deep.equal(['https://mandate.example', AUDIENCE, AUDIENCE]);
  });
});

describe('The policy of a tool server', () => {
  const { policy } = createToolServer({ ...GOOD, requireActor: false, maxDelegationDepth: 2 });
  const given = (value: unknown) => () => policy(value as RoutePolicy);

  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{}, /scope must be a list of at least one scope/],
    [{ scope: [] }, /scope must be a list of at least one scope/],
    [{ scope: 'jira:read' }, /scope must be a list of at least one scope/],
    [{ scope: ['jira:read jira:comment'] }, /scope must hold only scopes/],
    [{ scope: [''] }, /scope must hold only scopes/],
    [{ scope: [undefined] }, /scope must hold only scopes/],
    [{ scope: ['a'], highRisk: 'yes' }, /highRisk must be true or false/],
    [{ scope: ['a'], requireActor: 1 }, /requireActor must be true or false/],
    [{ scope: ['a'], maxDelegationDepth: 0 }, /maxDelegationDepth must be a whole number of 1 or more/],
    [{ scope: ['a'], high_risk: true }, /high_risk is not an option/],
    [null, /scope must be a list/],
    [undefined, /scope must be a list/],
    ['jira:read', /scope must be a list/],
  ];
  for (const [value, message] of wrong) {
    it(`cannot be ${inspect(value)}`, () => {
      expect(given(value)).to.throw(TypeError, message);
    });
  }

  it('inherits the options of the tool server', () => {
    expect(policy({ scope: ['a', 'b', 'a'] })).to.deep.equal({
      scope: ['a', 'b'],
      highRisk: false,
      requireActor: false,
      maxDelegationDepth: 2,
    });
    const own = { scope: ['a'], highRisk: true, requireActor: true, maxDelegationDepth: 5 };
    expect(policy(own)).to.deep.equal(own);
  });

  it('does not change when the object that it was created from changes', () => {
    const scope = ['jira:admin'];
    const made = policy({ scope });
    scope.pop();
    expect(made.scope).to.deep.equal(['jira:admin']);
    expect(() => Object.assign(made, { highRisk: false })).to.throw(TypeError);
  });
});

describe('A tool server', () => {
  const fixture = planeForEachTest();
  const { events, toolServer: server } = fixture;
  let plane: typeof fixture.plane;
  beforeEach(() => {
    ({ plane } = fixture);
  });
  const READ = { scope: ['jira:read'] };

  it('refuses a tool without a policy after it has verified the token', async () => {
    const { authorize } = server();
    const access = await authorize({ token: plane.token(), route: 'rm', policy: 'unknown_tool' });
    expect(access).to.include({ kind: 'refused', status: 403, reason: 'unknown_tool', error: 'insufficient_scope' });
    const stranger = await authorize({ token: undefined, route: 'rm', policy: 'unknown_tool' });
    expect(stranger).to.include({ status: 401, reason: 'missing_token' });
    expect(events.map(({ route, reason, act }) => [route, reason, act])).to.deep.equal([
      ['rm', 'unknown_tool', 'agent:triage'],
      ['rm', 'missing_token', null],
    ]);
  });

  it('refuses a request of unclear target before it reads the token or fetches a key', async () => {
    const { authorize } = server();
    const access = await authorize({ token: plane.token(), route: null, policy: 'malformed_request' });
    expect(access).to.include({ kind: 'refused', status: 400, reason: 'malformed_request', error: 'invalid_request' });
    expect(access).to.have.property('headers').that.has.keys('WWW-Authenticate');
    expect(events.map(({ route, decision, reason, sub }) => [route, decision, reason, sub])).to.deep.equal([
      [null, 'deny', 'malformed_request', null],
    ]);
    expect(plane.asked('/.well-known/jwks.json')).to.equal(0);
  });

  it('refuses a token of more than 16 KiB as malformed before it fetches a key', async () => {
    const { authorize, policy } = server();
    const read = policy(READ);
    const padded = (length: number) => plane.token({ padding: 'x'.repeat(length) });
    const long = padded(12_400);
    expect(long.length).to.be.greaterThan(16 * 1024);
    expect(await authorize({ token: long, route: 'x', policy: read })).to.include({ reason: 'malformed_token' });
    expect(plane.asked('/.well-known/jwks.json')).to.equal(0);
    expect(await authorize({ token: padded(11_000), route: 'x', policy: read })).to.include({ kind: 'allowed' });
  });

  it('refuses a request with the reason of an objection to its claims, before introspection', async () => {
    const { authorize, policy } = server();
    const heard: string[] = [];
    const access = await authorize({
      token: plane.token(),
      route: 'x',
      policy: policy({ ...READ, highRisk: true }),
      objection: ({ sub }) => {
        heard.push(sub);
        return 'unknown_tool';
      },
    });
    expect(access).to.include({ kind: 'refused', status: 403, reason: 'unknown_tool' });
    expect(heard).to.deep.equal(['ada']);
    expect(events.map(({ decision, reason, sub }) => [decision, reason, sub])).to.deep.equal([
      ['deny', 'unknown_tool', 'ada'],
    ]);
    expect(plane.asked('/oauth2/introspect')).to.equal(0);
  });

  it('refuses a request under a policy that it did not create', async () => {
    const errors: unknown[] = [];
    const { authorize } = server({ onError: (error) => void errors.push(error) });
    const foreign = server().policy(READ);
    for (const policy of [foreign, { scope: [] }, undefined]) {
      const access = await authorize({ token: plane.token(), route: 'x', policy: policy as never });
      expect(access).to.deep.include({ status: 500, reason: 'internal_error', body: { error: 'server_error' } });
    }
    expect(errors).to.have.lengthOf(3);
  });

  it('refuses a request, and does not throw, when an injected function throws', async () => {
    const fault = () => {
      throw new Error('It broke.');
    };
    const broken = server({ now: fault, onError: fault });
    const policy = broken.policy(READ);
    expect(await broken.authorize({ token: plane.token(), route: 'x', policy })).to.include({ status: 500 });
    const unreached = server({ fetch: fault });
    const access = await unreached.authorize({
      token: plane.token(),
      route: 'x',
      policy: unreached.policy(READ),
    });
    expect(access).to.include({ status: 503, reason: 'keys_unavailable' });
  });

  it('does not wait for a fetch that never ends, even if it ignores its signal', async () => {
    const { authorize, policy } = server({ timeoutMs: 20, fetch: () => new Promise(() => undefined) });
    const access = await authorize({ token: plane.token(), route: 'x', policy: policy(READ) });
    expect(access).to.include({ status: 503, reason: 'keys_unavailable' });
  });

  it('writes each event as a line of JSON on stdout by default', async () => {
    const { write } = process.stdout;
    const lines: string[] = [];
    let told: ((error?: Error) => void) | undefined;
    let decided: unknown;
    const onError = () => undefined;
    const { authorize, policy } = createToolServer({ issuer: plane.issuer, audience: AUDIENCE, onError });
    const enforced = policy(READ);
    try {
      process.stdout.write = (line: string | Uint8Array, ...rest: readonly unknown[]) => {
        lines.push(String(line));
        told = rest.find((each) => typeof each === 'function') as typeof told;
        return true;
      };
      const act = { sub: 'agent:triage', depth: 1, instance: 'a\u009b2J\u2028{"event":"tool.access"}\n' };
      const deciding = authorize({ token: plane.token({ act }), route: 'GET /x', policy: enforced });
      await eventually(() => told !== undefined);
      told?.(new Error('The disk is full.'));
      decided = await deciding;
    } finally {
      process.stdout.write = write;
    }
    // The tool server refuses a request whose event it could not write.
    expect(decided).to.include({ kind: 'refused', status: 500 });
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.match(/^[\x20-\x7e]+\n$/);
    expect(lines[0]).to.match(/^\{"event":"tool\.access",.*\}\n$/);
    expect(JSON.parse(lines[0] ?? '')).to.include({ decision: 'allow', sub: 'ada', route: 'GET /x' });
  });

  it('introspects a token with any value of introspect_required except false', async () => {
    const { authorize, policy } = server();
    const read = policy(READ);
    for (const [asked, said] of [
      [1, true],
      [1, null],
      [1, 'yes'],
      [0, false],
      [0, undefined],
    ] as const) {
      const before = plane.asked('/oauth2/introspect');
      await authorize({ token: plane.token({ introspect_required: said }), route: 'x', policy: read });
      expect(plane.asked('/oauth2/introspect') - before, String(said)).to.equal(asked);
    }
  });

  it('returns typed claims with the actor chain', async () => {
    const { authorize, policy } = server({ maxDelegationDepth: 2 });
    const act = { sub: 'agent:child', depth: 2, act: { sub: 'agent:triage', instance: 'pod-7', depth: 1 } };
    const token = plane.token({ act, introspect_required: true });
    const access = await authorize({ token, route: 'x', policy: policy(READ) });
    if (access.kind === 'refused') throw new Error(access.reason);
    const { exp, iat, task, ...claims } = access.claims;
    expect(claims).to.deep.equal({
      iss: plane.issuer,
      sub: 'ada',
      aud: AUDIENCE,
      jti: TOKEN_ID,
      scope: ['jira:read', 'jira:comment'],
      clientId: 'agent:triage',
      act,
      chain: [{ sub: 'agent:child', depth: 2 }, act.act],
      introspectRequired: true,
    });
    expect([exp - iat, task?.sponsor]).to.deep.equal([240, 'ada@example']);
  });
});
