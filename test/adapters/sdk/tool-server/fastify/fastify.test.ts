/** Rules specific to Fastify: nested plugins, hooks, response schemas, and routes that Fastify adds itself. */

import { expect } from 'chai';
import fastify, { type FastifyInstance } from 'fastify';
import type { ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { mandateProtection } from '../../../../../adapters/sdk/tool-server/fastify/fastify.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { hangingUp } from '../../../../support/tool-server/hanging-up.ts';

const READ = { mandate: { scope: ['jira:read'] } };

describe('The Fastify plugin', () => {
  const fixture = planeForEachTest();
  const { events } = fixture;
  let toolServer: ToolServer;
  let app: FastifyInstance;

  beforeEach(() => {
    toolServer = fixture.toolServer();
    app = fastify();
  });
  afterEach(() => app.close());

  const authorized = () => ({ authorization: `Bearer ${fixture.plane.token()}` });
  const get = (url: string) => app.inject({ url, headers: authorized() });
  const protect = (open?: readonly string[]) => app.register(mandateProtection, { toolServer, ...(open && { open }) });
  async function failure(work: () => PromiseLike<unknown>): Promise<string> {
    try {
      await work();
    } catch (error) {
      return String(error);
    }
    return 'nothing';
  }

  it('protects the routes of nested plugins, and names them in events by their whole pattern', async () => {
    await protect();
    await app.register(
      async (child) => {
        await child.register(async (grandchild) => {
          grandchild.get('/without-policy', async () => 'no');
          grandchild.get('/issues/:key', { config: READ }, async (request) => request.mandate?.act?.sub);
        });
      },
      { prefix: '/api' },
    );
    expect((await get('/api/without-policy')).json()).to.include({ reason: 'unknown_route' });
    expect((await get('/api/issues/7')).body).to.equal('agent:triage');
    expect(events.map((event) => event.route)).to.deep.equal(['GET /api/without-policy', 'GET /api/issues/:key']);
  });

  it('fails the start when a policy has no scope', async () => {
    await protect();
    const empty = { mandate: { scope: [] } };
    expect(() => app.get('/a', { config: empty }, async () => 'a')).to.throw(TypeError, /scope must be a list/);
  });

  it('fails the start when a route is both open and has a policy', async () => {
    await protect(['GET /a']);
    expect(() => app.get('/a', { config: READ }, async () => 'a')).to.throw(TypeError, /GET \/a .* listed as open/);
  });

  for (const open of ['/healthz', 'get /healthz', 'GET', '']) {
    it(`fails the start when an open route is malformed: "${open}"`, async () => {
      expect(await failure(() => protect([open]))).to.match(
        /TypeError: mandateProtection: open\[0\] must be a method and a pattern/,
      );
    });
  }

  it('fails the start when routes exist already, because its hooks might not reach them', async () => {
    app.register(async (child) => {
      child.get('/a', async () => 'a');
    });
    expect(await failure(() => protect())).to.match(/Error: Register the protection first/);
  });

  it('fails the start when it is registered twice', async () => {
    await protect();
    expect(await failure(() => protect())).to.match(/already/);
  });

  it('refuses a request for an unknown path before a not-found handler of the app answers', async () => {
    await protect();
    app.setNotFoundHandler(async () => 'Ours.');
    app.register(
      async (child) => {
        child.setNotFoundHandler(async () => 'A child of ours.');
      },
      { prefix: '/api' },
    );
    for (const url of ['/nothing', '/api/nothing']) {
      expect((await get(url)).json(), url).to.include({ reason: 'unknown_route' });
    }
    expect(events.map(({ route, sub }) => [route, sub])).to.deep.equal([
      [null, 'ada'],
      [null, 'ada'],
    ]);
  });

  it('refuses a request for an unknown path also if the not-found handler has a policy', async () => {
    await protect();
    app.get('/a', { config: READ }, async () => 'a');
    app.setNotFoundHandler({ config: READ } as object, async () => 'Ours.');
    expect((await get('/a')).body).to.equal('a');
    const answer = await get('/nothing');
    expect([answer.statusCode, answer.json().reason]).to.deep.equal([403, 'unknown_route']);
    expect(events.at(-1)).to.include({ route: null, decision: 'deny', reason: 'unknown_route', sub: 'ada' });
  });

  it('opens the HEAD route of an open GET route, and no other HEAD route', async () => {
    await protect(['GET /healthz']);
    app.get('/healthz', async () => 'well');
    app.get('/a', { config: READ }, async () => 'a');
    const head = (url: string) => app.inject({ method: 'HEAD', url });
    expect((await head('/healthz')).statusCode).to.equal(200);
    expect((await head('/a')).statusCode).to.equal(401);
    expect(events.map(({ route, reason }) => [route, reason])).to.deep.equal([['HEAD /a', 'missing_token']]);
  });

  it('allows a request for an open route without a token, and writes no event', async () => {
    await protect(['GET /healthz', 'OPTIONS *']);
    app.get('/healthz', async (request) => ({ mandate: request.mandate }));
    app.options('*', async (_, reply) => reply.code(204).send());
    expect((await app.inject('/healthz?x=1')).json()).to.deep.equal({ mandate: null });
    expect((await app.inject({ method: 'OPTIONS', url: '/issues/7' })).statusCode).to.equal(204);
    expect((await app.inject({ method: 'POST', url: '/healthz' })).statusCode).to.equal(401);
    expect(events.map((event) => event.route)).to.deep.equal([null]);
  });

  it('sends the reason of a refusal when the response schema of the route does not allow it', async () => {
    await protect();
    const answer = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
    const schema = { response: { '4xx': answer, 401: answer } };
    app.get('/a', { config: READ, schema }, async () => ({ a: 'a' }));
    expect((await app.inject('/a')).json()).to.include({ error: 'invalid_token', reason: 'missing_token' });
  });

  it('refuses a request before it reads the body', async () => {
    await protect();
    app.post('/a', { config: READ }, async () => 'a');
    const headers = { 'content-type': 'application/json' };
    expect((await app.inject({ method: 'POST', url: '/a', headers, body: '{' })).statusCode).to.equal(401);
  });

  it('reaches no handler if the refused client hangs up while an onSend hook waits', async () => {
    const request = hangingUp(app);
    await protect();
    app.get('/a', { config: READ }, async () => 'a');
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    expect(await request(`${url}/a`)).to.equal(false);
    expect(events.map(({ decision, reason }) => [decision, reason])).to.deep.equal([['deny', 'missing_token']]);
  });

  it('applies the policy of a route to each of its methods', async () => {
    await protect();
    app.route({ method: ['PUT', 'PATCH'], url: '/a', config: READ, handler: async () => 'a' });
    for (const method of ['PUT', 'PATCH'] as const) {
      expect((await app.inject({ method, url: '/a' })).statusCode).to.equal(401);
      expect((await app.inject({ method, url: '/a', headers: authorized() })).body).to.equal('a');
    }
  });
});
