/** Rules specific to Express: nested routers, other middleware, and route names that Express does not keep. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express, { type Express } from 'express';
import { claimsOf, expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { eventually } from '../../../../support/eventually.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';

describe('The Express middleware', () => {
  const fixture = planeForEachTest();
  const { events } = fixture;
  const READ = { scope: ['jira:read'] };
  let protect: ReturnType<typeof expressProtection>;
  let app: Express;
  let server: Server;

  beforeEach(async () => {
    protect = expressProtection(fixture.toolServer());
    app = express();
    await new Promise<void>((resolve) => {
      server = app.listen(0, '127.0.0.1', () => resolve());
    });
  });
  afterEach(async () => {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  });

  function get(path: string): Promise<Response> {
    const { port } = server.address() as AddressInfo;
    return fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${fixture.plane.token()}` } });
  }

  it('fails the start when a policy has no scope', () => {
    expect(() => protect({ scope: [] })).to.throw(TypeError, /scope must be a list/);
    expect(() => protect(undefined as never)).to.throw(TypeError);
  });

  it('names a route in events by its pattern or by the name from its policy, never by the URL', async () => {
    const router = express.Router();
    router.get('/issues/:key', protect(READ), (_, response) => void response.end());
    app.use('/tenants/:tenant', router);
    const named = protect({ ...READ, name: 'GET /tenants/:tenant/boards' });
    app.get('/tenants/:tenant/boards', named, (_, response) => void response.end());
    app.use('/all/:secret', protect(READ), (_, response) => void response.end());
    for (const path of ['/tenants/acme/issues/7?q=secret', '/tenants/acme/boards?q=secret', '/all/secret?q=secret']) {
      expect((await get(path)).status, path).to.equal(200);
    }
    expect(events.map((event) => event.route)).to.deep.equal(['GET /issues/:key', 'GET /tenants/:tenant/boards', null]);
  });

  it('reads headers if rawHeaders is empty, as behind serverless-http, and refuses two Authorization headers there too', async () => {
    const emptied =
      (headers: (token: string) => object) => (request: express.Request, _: unknown, next: () => void) => {
        const { authorization = '' } = request.headers;
        Object.assign(request, { rawHeaders: [], headers: headers(authorization) });
        next();
      };
    const ok = (_: unknown, response: express.Response) => void response.send('ok');
    app.get(
      '/one',
      emptied((authorization) => ({ authorization })),
      protect(READ),
      ok,
    );
    app.get(
      '/case',
      emptied((Authorization) => ({ Authorization })),
      protect(READ),
      ok,
    );
    app.get(
      '/two',
      emptied((one) => ({ authorization: [one, one] })),
      protect(READ),
      ok,
    );
    app.get(
      '/none',
      emptied(() => ({})),
      protect(READ),
      ok,
    );
    const statuses = await Promise.all(
      ['/one', '/case', '/two', '/none'].map(async (path) => (await get(path)).status),
    );
    expect(statuses).to.deep.equal([200, 200, 401, 401]);
  });

  it('returns no claims for a request that was not allowed', async () => {
    app.get('/open', (request, response) => {
      expect(() => claimsOf(request)).to.throw('is its route protected?');
      response.end();
    });
    expect((await get('/open')).status).to.equal(200);
  });

  it('returns claims that no other middleware can forge', async () => {
    app.use((request, _, next) => {
      Object.assign(request, { mandate: { sub: 'mallory' }, claims: { sub: 'mallory' } });
      next();
    });
    app.get('/a', protect(READ), (request, response) => void response.send(claimsOf(request).sub));
    expect(await (await get('/a')).text()).to.equal('ada');
  });

  it('does not call the handler after another middleware has answered', async () => {
    let reached = false;
    app.use((_, response, next) => {
      response.status(504).end();
      next();
    });
    app.get('/a', protect(READ), () => {
      reached = true;
    });
    expect((await get('/a')).status).to.equal(504);
    await eventually(() => events.length > 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reached).to.equal(false);
  });

  it('passes an error of a handler to the error handler of the app', async () => {
    app.get('/a', protect(READ), () => {
      throw new Error('Theirs.');
    });
    app.use(((_error, _request, response, _next) => void response.status(418).end()) as express.ErrorRequestHandler);
    expect((await get('/a')).status).to.equal(418);
  });
});
