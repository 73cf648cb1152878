/** Spans (`Service:Traces:Enabled`): the service and a tool server as processes, with a real SDK and a collector. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { type CollectedSpan, type Collector, SDK, startCollector } from '../support/collector.ts';
import { type CommandProcess, startCommand } from '../support/command-process.ts';
import { databasesByLength, type FreshDatabase, type TestDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type ExampleServer, startExample } from '../support/example-process.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, type Handler } from '../support/loopback.ts';
import { ADMIN_KEY, type Answer, encodeForm, JIRA, recordsOf, registerAgent, sendTo } from '../support/mandate.ts';
import { movedClock } from '../support/moved-clock.ts';
import { rawConnection } from '../support/raw-http.ts';
import { startUserDirectory, type UserDirectory } from '../support/user-directory.ts';

const TOOL_SERVER = new URL('../support/tool-server/traced-tool-server.ts', import.meta.url);
const PARENT = '00f067aa0ba902b7';

const newTrace = () => randomBytes(16).toString('hex');
const traceparent = (traceId: string) => ({ traceparent: `00-${traceId}-${PARENT}-01` });
const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).to.have.lengthOf(1);
  return found[0] as CollectedSpan;
};

interface Running {
  readonly url: string;
  readonly process: CommandProcess;
  post(path: string, form: Readonly<Record<string, string | undefined>>, headers?: object): Promise<Answer>;
  admin(method: string, path: string, body?: unknown, headers?: object): Promise<Answer>;
  lines(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

interface Surroundings {
  readonly database: FreshDatabase;
  readonly provider: IdentityProvider;
  readonly directory: UserDirectory;
}

async function startService(
  { database, provider, directory }: Surroundings,
  settings: Readonly<Record<string, string>>,
): Promise<Running> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const process = startCommand(['serve'], {
    ...database.settings,
    ...directory.settings,
    'Service:Issuer': url,
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:RateLimit:Enabled': 'false',
    'Service:Audit:Checkpoint:Interval': 'PT1S',
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: String(port),
    ...settings,
  });
  let out = '';
  process.child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  await process.said('listening');
  return {
    url,
    process,
    post: (path, form, headers = {}) =>
      sendTo(`${url}${path}`, {
        method: 'POST',
        body: encodeForm(form),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      }),
    admin: (method, path, body, headers = {}) =>
      sendTo(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    lines: async () =>
      out
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
    async stop() {
      process.child.kill('SIGTERM');
      return process.ended;
    },
  };
}

const agentOf = (service: Running, { provider }: Surroundings, changes = {}) =>
  registerAgent({ ...service, issuer: service.url, provider, clock: movedClock() }, changes);

async function surroundingsOn(database: TestDatabase): Promise<Surroundings> {
  return {
    database: await database.fresh(),
    provider: await startIdentityProvider(),
    directory: await startUserDirectory(answering({ id: 'ada', enabled: true })),
  };
}

async function endAll({ database, provider, directory }: Surroundings): Promise<void> {
  await Promise.all([provider.goDown(), directory.server.close()]);
  await database.drop();
}

for (const database of databasesByLength) {
  describe(`Spans on ${database.name}`, function () {
    this.timeout(60_000);
    let surroundings: Surroundings;
    let collector: Collector;
    let service: Running;
    let agent: Awaited<ReturnType<typeof registerAgent>>;
    const system = database.engine === 'postgres' ? 'postgresql' : 'sqlite';

    before(async () => {
      surroundings = await surroundingsOn(database);
      collector = await startCollector();
      service = await startService(surroundings, {
        ...collector.environment('mandate'),
        'Service:Traces:Enabled': 'true',
      });
      agent = await agentOf(service, surroundings, { high_risk_audiences: [JIRA] });
    });
    after(async () => {
      service.process.child.kill('SIGKILL');
      await service.process.ended;
      await collector.server.close();
      await endAll(surroundings);
    });

    const exchange = (headers: object = {}, changes = {}) =>
      service.post('/oauth2/token', agent.exchangeForm(changes), headers);

    it('connect the request to a tool server, its introspection and the database in one trace', async () => {
      const issued = await exchange();
      const toolServer: ExampleServer = await startExample(
        'traced-tool-server',
        { ...collector.environment('tool-server'), MANDATE_ISSUER: service.url, AUDIENCE: JIRA },
        { folder: '.', argumentsFor: () => asProgram(TOOL_SERVER) },
      );
      const traceId = newTrace();
      const called = await sendTo(`${toolServer.url}/issues`, {
        headers: { authorization: `Bearer ${issued.body.access_token}`, ...traceparent(traceId) },
      });
      expect(called.status, called.text).to.equal(200);
      const names = ['POST /oauth2/introspect', 'GET /.well-known/jwks.json', 'tasks.tokenFacts'];
      await eventually(() => collector.spans().filter((span) => span.traceId === traceId).length === 5);
      await toolServer.stop();
      const spans = await collector.trace(traceId, names);
      const of = (who: string) => spans.filter((span) => span.service === who);

      const asked = named(of('tool-server'), 'POST /oauth2/introspect');
      const keys = named(of('tool-server'), 'GET /.well-known/jwks.json');
      expect([asked.parentSpanId, keys.parentSpanId]).to.deep.equal([PARENT, PARENT]);
      expect(asked).to.deep.include({ kind: 'client', isError: false });
      const introspection = named(of('mandate'), 'POST /oauth2/introspect');
      expect(introspection.parentSpanId).to.equal(asked.spanId);
      expect(named(of('mandate'), 'GET /.well-known/jwks.json').parentSpanId).to.equal(keys.spanId);
      expect(introspection).to.deep.include({ kind: 'server', isError: false });
      expect(introspection.attributes).to.deep.equal({
        'http.request.method': 'POST',
        'url.scheme': 'http',
        'mandate.surface': 'introspection',
        'http.route': '/oauth2/introspect',
        'url.path': '/oauth2/introspect',
        'http.response.status_code': 200,
        'mandate.outcome': 'ok',
      });
      const query = named(of('mandate'), 'tasks.tokenFacts');
      expect(query).to.deep.include({ kind: 'client', parentSpanId: introspection.spanId, isError: false });
      expect(query.attributes).to.deep.equal({ 'db.system.name': system, 'db.operation.name': 'tasks.tokenFacts' });
    });

    it('show the requests to the identity provider and the decision of an exchange', async () => {
      const traceId = newTrace();
      expect((await exchange({ ...traceparent(traceId), tracestate: 'vendor=opaque' })).status).to.equal(200);
      const spans = await collector.trace(traceId, ['POST /oauth2/token', 'GET person', 'open_task']);
      const root = named(spans, 'POST /oauth2/token');
      expect(root).to.deep.include({ kind: 'server', parentSpanId: PARENT, traceState: 'vendor=opaque' });
      for (const name of ['GET person', 'sponsors.findBlocks', 'open_task']) {
        expect(named(spans, name), name).to.deep.include({ kind: 'client', parentSpanId: root.spanId });
      }
      const { received, url } = surroundings.directory.server;
      const person = named(spans, 'GET person');
      expect(person.attributes).to.deep.equal({
        'http.request.method': 'GET',
        'url.scheme': 'http',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(url).port),
        'mandate.purpose': 'person',
        'http.response.status_code': 200,
      });
      // The provider gets the client span as its parent, and no state of another vendor.
      expect(received.at(-1)?.headers.traceparent).to.equal(`00-${traceId}-${person.spanId}-01`);
      expect(received.at(-1)?.headers).not.to.have.property('tracestate');
      // The log names the span of the request.
      await eventually(async () =>
        (await service.lines()).some(({ trace_id, span_id }) => trace_id === traceId && span_id === root.spanId),
      );
    });

    it('belong to their own request while other requests are under way', async () => {
      const traces = Array.from({ length: 24 }, newTrace);
      const answers = await Promise.all(
        traces.map((traceId, index) => exchange(traceparent(traceId), index % 2 === 0 ? {} : { scope: 'no:such' })),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(
        traces.map((_, index) => (index % 2 === 0 ? 200 : 400)),
      );
      for (const [index, traceId] of traces.entries()) {
        const decision = index % 2 === 0 ? 'open_task' : 'refuse';
        const spans = await collector.trace(traceId, ['POST /oauth2/token', decision]);
        const root = named(spans, 'POST /oauth2/token');
        expect(named(spans, decision).parentSpanId).to.equal(root.spanId);
        const parents = new Set(spans.filter((span) => span !== root).map(({ parentSpanId }) => parentSpanId));
        expect([...parents]).to.deep.equal([root.spanId]);
      }
      const last = (await recordsOf(service.admin)).slice(-traces.length);
      expect(last.map(({ reason }) => reason).filter(Boolean)).to.deep.equal(
        Array(12).fill('scope_intersection_empty'),
      );
    });

    it('name the reason of a refusal, which is no error', async () => {
      const traceId = newTrace();
      const refused = await exchange(traceparent(traceId), { scope: 'no:such' });
      expect(refused.body.error).to.equal('invalid_scope');
      const spans = await collector.trace(traceId, ['POST /oauth2/token', 'refuse']);
      const root = named(spans, 'POST /oauth2/token');
      expect(root.isError).to.equal(false);
      expect(root.attributes).to.deep.include({
        'http.response.status_code': 400,
        'mandate.outcome': 'refused',
        'mandate.reason': 'scope_intersection_empty',
      });
      expect(named(spans, 'refuse').parentSpanId).to.equal(root.spanId);
      const record = (await recordsOf(service.admin)).at(-1);
      expect(record).to.include({ event: 'token.denied', decision: 'deny', reason: 'scope_intersection_empty' });
    });

    it('show the record of an anonymous denial', async () => {
      const traceId = newTrace();
      const refused = await service.post('/oauth2/token', { grant_type: 'none' }, traceparent(traceId));
      expect(refused.body.error).to.equal('unsupported_grant_type');
      const spans = await collector.trace(traceId, ['POST /oauth2/token', 'append']);
      const root = named(spans, 'POST /oauth2/token');
      expect(root.attributes['mandate.reason']).to.equal('unsupported_grant_type');
      expect(named(spans, 'append').parentSpanId).to.equal(root.spanId);
      const reasons = (await recordsOf(service.admin)).map(({ reason }) => reason);
      expect(reasons).to.include('unsupported_grant_type');
    });

    it('name the pattern of a route, and not the person in its path', async () => {
      const traceId = newTrace();
      const path = '/admin/sponsors/edsger/block';
      expect((await service.admin('PUT', path, undefined, traceparent(traceId))).status).to.equal(200);
      const spans = await collector.trace(traceId, ['PUT /admin/sponsors/:sponsorKey/block', 'place_block']);
      const { attributes } = named(spans, 'PUT /admin/sponsors/:sponsorKey/block');
      expect(attributes).to.include({
        'http.route': '/admin/sponsors/:sponsorKey/block',
        'url.path': '/admin/sponsors/:sponsorKey/block',
      });
    });

    it('have no parent if the header is malformed, repeated, or was sent with an earlier request', async () => {
      const [first, second] = [newTrace(), newTrace()];
      const connection = await rawConnection(service.url);
      const head = (...lines: readonly string[]) =>
        `${['GET /healthz HTTP/1.1', 'Host: mandate.test', ...lines].join('\r\n')}\r\n\r\n`;
      const header = (traceId: string) => `traceparent: 00-${traceId}-${PARENT}-01`;
      connection.send(head(header(first)));
      await connection.until('Healthy');
      const roots = () =>
        collector.spans().filter(({ name, parentSpanId }) => name.includes('/healthz') && !parentSpanId);
      const before = roots().length;
      connection.send(
        head() + head(header(second).toUpperCase()) + head(header(second), header(second), 'Connection: close'),
      );
      await connection.until('nothing that is ever sent');
      await eventually(() => roots().length === before + 3);
      expect(new Set(roots().map(({ traceId }) => traceId)).size).to.equal(before + 3);
      const known = collector.spans().filter(({ traceId }) => traceId === first || traceId === second);
      expect(known.map(({ name, parentSpanId }) => [name, parentSpanId])).to.deep.equal([['GET /healthz', PARENT]]);
    });

    it('show sealing as a separate trace', async () => {
      const sealing = await collector.span(({ name }) => name === 'sealing the ledger');
      expect(sealing).to.deep.include({ kind: 'internal', parentSpanId: '', isError: false });
      const spans = await collector.trace(sealing.traceId, ['checkpoints.unsealed']);
      expect(named(spans, 'checkpoints.unsealed').parentSpanId).to.equal(sealing.spanId);
    });

    it('hold no token, grant, assertion, key or person', async () => {
      const traceId = newTrace();
      const form = agent.exchangeForm();
      const issued = await service.post('/oauth2/token', form, traceparent(traceId));
      const grant = String(issued.body.refresh_token);
      const refresh = agent.refreshForm(grant);
      const renewed = await service.post('/oauth2/token', refresh, traceparent(traceId));
      await service.post('/oauth2/introspect', { token: String(renewed.body.access_token) }, traceparent(traceId));
      const revoke = agent.revokeForm(grant);
      expect((await service.post('/oauth2/revoke', revoke, traceparent(traceId))).status).to.equal(200);
      await collector.trace(traceId, ['open_task', 'renew_grant', 'tasks.tokenFacts', 'revoke_grant']);
      const sent = collector.server.received.map(({ body }) => body).join('\n');
      const secrets = [
        ...[form.subject_token, form.actor_token, refresh.client_assertion, revoke.client_assertion],
        ...[issued.body.access_token, renewed.body.access_token, grant, 'service-token', ADMIN_KEY],
        ...['"ada"', '/ada', 'ada@', 'edsger', agent.id, String(issued.body.task_id)],
      ];
      for (const secret of secrets) expect(sent).not.to.include(String(secret));
      // A part of a token is as bad: none of its three segments occurs.
      for (const token of secrets.filter((text) => String(text).startsWith('ey'))) {
        for (const segment of String(token).split('.')) expect(sent).not.to.include(segment);
      }
    });
  });
}

describe('Spans of one process', function () {
  this.timeout(60_000);
  let surroundings: Surroundings;
  let collector: Collector;
  before(async () => {
    const [database] = databasesByLength;
    if (database === undefined) throw new Error('no database');
    surroundings = await surroundingsOn(database);
    collector = await startCollector();
  });
  after(async () => {
    await collector.server.close();
    await endAll(surroundings);
  });

  const served = async (settings: Readonly<Record<string, string>>) => {
    const service = await startService(surroundings, settings);
    await sendTo(`${service.url}/healthz`, {});
    await eventually(async () => (await service.lines()).some(({ message }) => message === 'request'));
    const lines = await service.lines();
    expect((await service.stop()).code).to.equal(0);
    return lines;
  };

  beforeEach(() => {
    collector.server.received.length = 0;
  });

  it('are sent to the last one when the service stops', async () => {
    const traceId = newTrace();
    const stopping = await startService(surroundings, {
      ...collector.environment('stopping'),
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      'Service:Traces:Enabled': 'true',
    });
    await sendTo(`${stopping.url}/healthz`, { headers: traceparent(traceId) });
    expect((await stopping.stop()).code).to.equal(0);
    const spans = collector.spans().filter((span) => span.service === 'stopping');
    expect(spans.map(({ name }) => name)).to.include.members(['start', 'GET /healthz']);
  });

  const collectors: readonly (readonly [string, Handler | undefined])[] = [
    ['is down', undefined],
    ['refuses them', answering({}, 503)],
    ['never answers', () => undefined],
  ];
  for (const [what, answer] of collectors) {
    it(`harm no request, and no stop, if the collector ${what}`, async () => {
      const broken = await startCollector(answer);
      if (answer === undefined) await broken.server.close();
      const served = await startService(surroundings, {
        ...broken.environment('mandate'),
        OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
        'Service:Traces:Enabled': 'true',
      });
      const agent = await agentOf(served, surroundings);
      for (let sent = 0; sent < 20; sent += 1) {
        const issued = await served.post('/oauth2/token', agent.exchangeForm());
        expect(issued.status, issued.text).to.equal(200);
      }
      if (answer !== undefined) await eventually(() => broken.server.received.length > 0);
      expect((await served.stop()).code).to.equal(0);
      if (answer !== undefined) await broken.server.close();
    });
  }

  it('show the record of a request that the rate limit refuses. Empty variables of the SDK mean unset: all are recorded', async () => {
    const limited = await startService(surroundings, {
      ...collector.environment(''),
      OTEL_TRACES_SAMPLER_ARG: '',
      OTEL_SERVICE_NAME: '',
      'Service:Traces:Enabled': 'true',
      'Service:RateLimit:Enabled': 'true',
      'Service:RateLimit:Introspection:PermitsPerMinute': '60',
      'Service:RateLimit:Introspection:Burst': '1',
    });
    const traceId = newTrace();
    const introspect = () => limited.post('/oauth2/introspect', { token: 'x' }, traceparent(traceId));
    await eventually(async () => (await introspect()).status === 429);
    const root = await collector.span(({ attributes }) => attributes['mandate.outcome'] === 'rate_limited');
    expect(root).to.include({ traceId, service: 'mandate' });
    const spans = await collector.trace(traceId, ['append']);
    expect(named(spans, 'append').parentSpanId).to.equal(root.spanId);
    const reasons = (await recordsOf(limited.admin)).map(({ reason }) => reason);
    expect(reasons).to.include('rate_limited');
    expect((await limited.stop()).code).to.equal(0);
  });

  it('need an SDK: without one the log says so, and nothing else changes', async () => {
    const lines = await served({ 'Service:Traces:Enabled': 'true' });
    const [first] = lines;
    expect(first).to.include({
      level: 'warn',
      message:
        'Service:Traces:Enabled is true, but no OpenTelemetry SDK is registered: there are no spans. Load one with node --import.',
    });
    for (const line of lines) expect(line).not.to.have.any.keys('trace_id', 'span_id');
  });

  it('are off by default: an SDK alone changes nothing, and does not make the process track promises', async () => {
    // Before version 24 Node marks each promise while an AsyncLocalStorage or another async hook is in use: this would slow
    // down every request. With spans on, they use one.
    const look = `process.on('SIGUSR2', () => {
      const marks = Object.getOwnPropertySymbols(Promise.resolve()).map(String);
      process.stdout.write('marks: [' + marks + ']' + String.fromCharCode(10));
    })`;
    const service = await startService(surroundings, {
      ...collector.environment('mandate'),
      NODE_OPTIONS: `--import ${SDK} --import data:text/javascript,${encodeURIComponent(look)}`,
    });
    const requests = async () => (await service.lines()).filter(({ message }) => message === 'request').length;
    await sendTo(`${service.url}/healthz`, {});
    await eventually(async () => (await requests()) === 1);
    for (const line of await service.lines()) expect(line).not.to.have.any.keys('trace_id', 'span_id');
    await sendTo(`${service.url}/healthz`, { headers: traceparent(newTrace()) });
    await eventually(async () => (await requests()) === 2);
    service.process.child.kill('SIGUSR2');
    expect(await service.process.said('marks:')).to.include('marks: []');
    expect((await service.stop()).code).to.equal(0);
    expect(collector.server.received).to.deep.equal([]);
  });
});
