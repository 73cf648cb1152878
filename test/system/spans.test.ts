/** Spans (`Service:Traces:Enabled`): the service and a tool server as processes, with a real SDK and a collector. */

import { expect } from 'chai';
import { asProgram } from '../../scripts/from-source.ts';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.ts';
import { databasesByLength } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type ExampleServer, startExample } from '../support/example-process.ts';
import { ADMIN_KEY, JIRA, recordsOf, type registerAgent, sendTo } from '../support/mandate.ts';
import {
  agentOf,
  endAll,
  newTrace,
  PARENT,
  type Running,
  type Surroundings,
  startService,
  surroundingsOn,
  traceparent,
} from './spans/service.ts';

const TOOL_SERVER = new URL('../support/tool-server/traced-tool-server.ts', import.meta.url);

const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).to.have.lengthOf(1);
  return found[0] as CollectedSpan;
};

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
