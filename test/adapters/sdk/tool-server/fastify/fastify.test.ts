/** Rules specific to Fastify: nested plugins, hooks, response schemas, and routes that Fastify adds itself. */

import { expect } from 'chai';
import fastify, { type FastifyInstance } from 'fastify';
import {
  type AccessEvent,
  createToolServer,
  type ToolServer,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { mandateProtection } from '../../../../../adapters/sdk/tool-server/fastify/fastify.ts';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
} from '../../../../support/tool-server/control-plane.ts';

const READ = { mandate: { scope: ['jira:read'] } };

describe('the Fastify plugin', () => {
  let plane: FakeControlPlane;
  let toolServer: ToolServer;
  let app: FastifyInstance;
  let events: AccessEvent[];

  beforeEach(async () => {
    plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    events = [];
    toolServer = createToolServer({
      ...{ issuer: plane.issuer, audience: AUDIENCE, onAccess: (event) => void events.push(event) },
    });
    app = fastify();
  });
  afterEach(async () => {
    await app.close();
    await plane.stop();
  });

  const get = (url: string, token = plane.token()) =>
    app.inject({ url, headers: { authorization: `Bearer ${token}` } });
  /** The reason of a refusal. */
  async function failure(work: () => PromiseLike<unknown>): Promise<string> {
    try {
      await work();
    } catch (error) {
      return String(error);
    }
    return 'nothing';
  }

  it('protects routes of plugins within plugins, under their whole pattern', async () => {
    await app.register(mandateProtection, { toolServer });
    await app.register(
      async (child) => {
        await child.register(async (grandchild) => {
          grandchild.get('/open-to-nobody', async () => 'no');
          grandchild.get('/issues/:key', { config: READ }, async (request) => request.mandate?.act?.sub);
        });
      },
      { prefix: '/api' },
    );
    expect((await get('/api/open-to-nobody')).json()).to.include({ reason: 'unknown_route' });
    expect((await get('/api/issues/7')).body).to.equal('agent:triage');
    expect(events.map((event) => event.route)).to.deep.equal(['GET /api/open-to-nobody', 'GET /api/issues/:key']);
  });

  it('fails the start when a policy has no scope', async () => {
    await app.register(mandateProtection, { toolServer });
    const empty = { mandate: { scope: [] } };
    expect(() => app.get('/a', { config: empty }, async () => 'a')).to.throw(TypeError, /scope must be a list/);
  });

  it('fails the start when a route is both open and has a policy', async () => {
    await app.register(mandateProtection, { toolServer, open: ['GET /a'] });
    expect(() => app.get('/a', { config: READ }, async () => 'a')).to.throw(TypeError, /GET \/a .* listed as open/);
  });

  for (const open of ['/healthz', 'get /healthz', 'GET', '']) {
    it(`fails the start for a malformed open route: ${open || 'nothing'}`, async () => {
      const registered = () => app.register(mandateProtection, { toolServer, open: [open] });
      expect(await failure(registered)).to.match(/TypeError: An open route is a method and a pattern/);
    });
  }

  it('fails the start when routes exist already, which its hooks might not reach', async () => {
    app.register(async (child) => {
      child.get('/a', async () => 'a');
    });
    const registered = () => app.register(mandateProtection, { toolServer });
    expect(await failure(registered)).to.match(/Error: Register the protection first/);
  });

  it('fails the start when it is registered twice', async () => {
    await app.register(mandateProtection, { toolServer });
    expect(await failure(() => app.register(mandateProtection, { toolServer }))).to.match(/already/);
  });

  it('answers before a not-found handler of the app', async () => {
    await app.register(mandateProtection, { toolServer });
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

  it('refuses every request for a not-found handler, also one with the policy of a route', async () => {
    await app.register(mandateProtection, { toolServer });
    app.get('/a', { config: READ }, async () => 'a');
    app.setNotFoundHandler({ config: READ } as object, async () => 'Ours.');
    expect((await get('/a')).body).to.equal('a');
    const answer = await get('/nothing');
    expect([answer.statusCode, answer.json().reason]).to.deep.equal([403, 'unknown_route']);
    expect(events.at(-1)).to.include({ route: null, decision: 'deny', reason: 'unknown_route', sub: 'ada' });
  });

  it('opens HEAD with an open GET, and nothing else', async () => {
    await app.register(mandateProtection, { toolServer, open: ['GET /healthz'] });
    app.get('/healthz', async () => 'well');
    app.get('/a', { config: READ }, async () => 'a');
    const head = (url: string) => app.inject({ method: 'HEAD', url });
    expect((await head('/healthz')).statusCode).to.equal(200);
    expect((await head('/a')).statusCode).to.equal(401);
    expect(events.map(({ route, reason }) => [route, reason])).to.deep.equal([['HEAD /a', 'missing_token']]);
  });

  it('allows open routes without a token, and writes no event for them', async () => {
    await app.register(mandateProtection, { toolServer, open: ['GET /healthz', 'OPTIONS *'] });
    app.get('/healthz', async (request) => ({ mandate: request.mandate }));
    app.options('*', async (_, reply) => reply.code(204).send());
    expect((await app.inject('/healthz?x=1')).json()).to.deep.equal({ mandate: null });
    expect((await app.inject({ method: 'OPTIONS', url: '/issues/7' })).statusCode).to.equal(204);
    expect((await app.inject({ method: 'POST', url: '/healthz' })).statusCode).to.equal(401);
    expect(events.map((event) => event.route)).to.deep.equal([null]);
  });

  it('sends its reason whatever response schema the route has', async () => {
    await app.register(mandateProtection, { toolServer });
    const answer = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
    const schema = { response: { '4xx': answer, 401: answer } };
    app.get('/a', { config: READ, schema }, async () => ({ a: 'a' }));
    expect((await app.inject('/a')).json()).to.include({ error: 'invalid_token', reason: 'missing_token' });
  });

  it('refuses before the body is read', async () => {
    await app.register(mandateProtection, { toolServer });
    app.post('/a', { config: READ }, async () => 'a');
    const headers = { 'content-type': 'application/json' };
    expect((await app.inject({ method: 'POST', url: '/a', headers, body: '{' })).statusCode).to.equal(401);
  });

  it('gives a route of several methods one policy', async () => {
    await app.register(mandateProtection, { toolServer });
    app.route({ method: ['PUT', 'PATCH'], url: '/a', config: READ, handler: async () => 'a' });
    for (const method of ['PUT', 'PATCH'] as const) {
      expect((await app.inject({ method, url: '/a' })).statusCode).to.equal(401);
      const headers = { authorization: `Bearer ${plane.token()}` };
      expect((await app.inject({ method, url: '/a', headers })).body).to.equal('a');
    }
  });
});
