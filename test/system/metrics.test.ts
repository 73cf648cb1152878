/** Prometheus metrics of a running service (docs/operating.md, "Metrics"). */

import { connect, createServer } from 'node:net';
import { expect } from 'chai';
import { serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { outcomes, surfaces } from '../../application/ports/telemetry.ts';
import { denialReasons } from '../../domain/denial.ts';
import { ledgerEvents } from '../../domain/ledger/record.ts';
import { freePort } from '../../scripts/free-port.ts';
import { connectOutside, databasesByLength, sqliteFile } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/listening.ts';
import { ADMIN_KEY, type Mandate, startMandate } from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { rawConnection } from '../support/raw-http.ts';
import { grown, METRICS_PORT, scrapedService } from './metrics/scraped.ts';
import { testState } from './metrics/state.ts';

for (const database of databasesByLength) {
  describe(`Metrics on ${database.name}`, () => {
    const scraped = scrapedService(database);
    const { look } = scraped;

    it('count and time requests by surface and outcome, and count denials by event and reason', async () => {
      const { mandate } = scraped;
      const agent = await mandate.agent();
      const before = await look();
      const lines = await mandate.recorded(async () => {
        const issued = await agent.exchange();
        expect(issued.status).to.equal(200);
        expect((await agent.exchange({ scope: 'payroll:write' })).status).to.equal(400);
        expect((await mandate.post('/oauth2/token', { grant_type: 'password' })).status).to.equal(400);
        expect((await mandate.post('/oauth2/token', { grant_type: 'password' })).status).to.equal(400);
        await mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) });
        await agent.revoke(String(issued.body.refresh_token));
        await mandate.get('/.well-known/jwks.json');
        await mandate.get(`/agents/${agent.id}/jwks.json`);
        await mandate.get('/nothing/here?with=this');
        await mandate.get('/healthz');
        await mandate.get('/admin/agents', { authorization: 'Bearer nobody' });
        await mandate.admin('POST', '/admin/agents', { agent_id: agent.id });
      });
      const after = await look();
      const requests = grown(before, after, 'mandate_requests_total');
      expect(requests).to.include({
        '{outcome="ok",surface="token"}': 1,
        '{outcome="refused",surface="token"}': 3,
        '{outcome="ok",surface="revocation"}': 1,
        '{outcome="ok",surface="keys"}': 2,
        '{outcome="refused",surface="other"}': 1,
        '{outcome="ok",surface="health"}': 1,
        '{outcome="refused",surface="admin"}': 2,
      });
      const timed = grown(before, after, 'mandate_request_duration_seconds_count');
      expect(timed['{surface="token"}']).to.equal(4);
      expect(grown(before, after, 'mandate_request_duration_seconds_bucket')).to.include({
        '{le="+Inf",surface="token"}': 4,
      });
      // The ledger has a record of the first of two equal denials; the metric counts both.
      const recorded = lines.filter(({ decision, count }) => decision === 'deny' && count === undefined);
      expect(recorded.length).to.be.greaterThan(1);
      const denials = grown(before, after, 'mandate_denials_total');
      for (const { event, reason } of recorded) {
        expect(denials, `${event} ${reason}`).to.have.property(`{event="${event}",reason="${reason}"}`);
      }
      expect(denials).to.include({
        '{event="token.denied",reason="scope_intersection_empty"}': 1,
        '{event="token.denied",reason="unsupported_grant_type"}': 2,
        '{event="admin.denied",reason="invalid_api_key"}': 1,
      });
    });

    it('report that decisions fail, until one succeeds', async () => {
      const fresh = await database.fresh();
      const ofItsOwn = await freePort();
      const instance = await startMandate({
        database: { ...database, fresh: async () => fresh },
        settings: { [METRICS_PORT]: String(ofItsOwn) },
      });
      const agent = await instance.agent();
      const failing = async () => (await scrape(ofItsOwn)).value('mandate_database_decisions_failing');
      expect(await failing()).to.equal(0);
      const other = await connectOutside(fresh);
      await other.sql(database.engine === 'postgres' ? 'begin; lock table ledger in share mode' : 'begin immediate');
      expect((await agent.exchange()).status).to.equal(503);
      expect(await failing()).to.equal(1);
      await other.sql('rollback');
      await other.close();
      expect((await agent.exchange()).status).to.equal(200);
      expect(await failing()).to.equal(0);
      await instance.stop();
    });

    it('have labels only from fixed sets, and no value from a request', async () => {
      const { values, families, text } = await look();
      const labelsOf = (name: string, label: string) =>
        new Set(
          [...values.keys()].flatMap((key) =>
            key.startsWith(name) ? (new RegExp(`[{,]${label}="([^"]*)"`).exec(key)?.[1] ?? []) : [],
          ),
        );
      // This service has no status lists, no approvals, no surface for people, no door for their programs, no transparency log, and no console.
      const served = surfaces.filter(
        (surface) => !['status_lists', 'approval', 'me', 'authorize', 'log', 'console'].includes(surface),
      );
      expect([...labelsOf('mandate_requests_total', 'surface')]).to.have.members(served);
      expect([...labelsOf('mandate_requests_total', 'outcome')]).to.have.members([...outcomes]);
      expect([...ledgerEvents]).to.include.members([...labelsOf('mandate_denials_total', 'event')]);
      const credentials = ['missing_api_key', 'invalid_api_key', 'agent_already_exists', 'agent_has_tasks'];
      expect([...denialReasons, ...credentials]).to.include.members([...labelsOf('mandate_denials_total', 'reason')]);
      for (const sent of ['agent-', 'jira', 'ada', 'nobody', 'nothing', 'payroll', 'with=', '127.0.0.1']) {
        expect(text.replaceAll(/^#.*$/gm, '')).not.to.include(sent);
      }
      // docs/operating.md lists these definitions.
      const ours = [...families].filter(([name]) => name.startsWith('mandate_'));
      expect(ours.map(([name, { help }]) => [name, help])).to.have.deep.members(
        serviceDefinitions.filter(({ only }) => only === undefined).map(({ name, help }) => [name, help]),
      );
    });

    it('are served at /metrics on a separate port, where every other path answers 404', async () => {
      const { port, mandate } = scraped;
      const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init);
      const answer = await ask('/metrics');
      expect(answer.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
      expect((await ask('/metrics?x=1')).status, 'a query is ignored').to.equal(200);
      for (const path of ['/', '/metrics/', '/x?/metrics', '/healthz', '/admin/agents', '/oauth2/token']) {
        const other = await ask(path);
        expect([other.status, await other.text()], path).to.deep.equal([404, '']);
      }
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        expect((await ask('/metrics', { method })).status).to.equal(404);
      }
      const large = await ask('/metrics', { headers: { 'x-large': 'x'.repeat(5000) } });
      expect(large.status).to.equal(431);
      expect((await mandate.get('/metrics')).status).to.equal(404);
    });

    testState(scraped, database);
  });
}

describe('Metrics', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile });
  });
  after(() => mandate.stop());

  it('count requests that the rate limit or the concurrency limit refuses', async () => {
    const port = await freePort();
    const instance = await mandate.another({
      [METRICS_PORT]: String(port),
      'Service:RateLimit:Enabled': 'true',
      'Service:RateLimit:PermitsPerMinute': '60',
      'Service:RateLimit:Burst': '1',
      'Service:Overload:ConcurrencyLimit': '1',
      'Service:Overload:QueueLimit': '0',
    });
    instance.clock.standStill();
    // The bucket allows one request, so the other six are refused.
    const flood = await rawConnection(instance.url);
    for (let sent = 1; sent <= 7; sent += 1) {
      flood.send('GET /no-such-path HTTP/1.1\r\nHost: mandate.test\r\n\r\n');
      await eventually(async () => (flood.received().match(/HTTP\/1\.1 /g) ?? []).length === sent);
    }
    flood.leave();
    // This request holds its permit until its body arrives.
    const { host, port: servedAt } = new URL(instance.url);
    const held = connect(Number(servedAt), '127.0.0.1');
    const head = [`POST /admin/agents HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${ADMIN_KEY}`];
    instance.clock.advance(1);
    held.write([...head, 'Content-Type: application/json', 'Content-Length: 10', '', ''].join('\r\n'));
    await eventually(
      async () => (await scrape(port)).value('mandate_admission_turns_busy', { work: 'revoking' }) === 1,
    );
    instance.clock.advance(1);
    expect((await instance.admin('GET', '/admin/agents')).status).to.equal(503);
    held.destroy();
    const aborted = { surface: 'admin', outcome: 'aborted' };
    await eventually(async () => (await scrape(port)).value('mandate_requests_total', aborted) === 1);
    const { value } = await scrape(port);
    expect(value('mandate_requests_total', { surface: 'other', outcome: 'refused' })).to.equal(1);
    expect(value('mandate_requests_total', { surface: 'other', outcome: 'rate_limited' })).to.equal(6);
    expect(value('mandate_admission_refusals_total', { reason: 'rate_limited', kind: 'main' })).to.equal(6);
    expect(value('mandate_denials_total', { event: 'token.denied', reason: 'rate_limited' })).to.equal(6);
    expect(value('mandate_requests_total', { surface: 'admin', outcome: 'overloaded' })).to.equal(1);
    expect(value('mandate_admission_refusals_total', { reason: 'overloaded', kind: 'revoking' })).to.equal(1);
    expect(value('mandate_denials_total', { event: 'admin.denied', reason: 'overloaded' })).to.equal(1);
    expect(value('mandate_admission_turns_busy', { work: 'revoking' })).to.equal(0);
    await instance.stop();
  });

  it('are served with mandate_database_up 0 and without metrics of the ledger while the database does not answer', async function () {
    // Retries, because a busy machine may exceed the time limit.
    this.retries(2);
    const port = await freePort();
    const silent = createServer();
    const away = await listen(silent);
    const instance = await mandate.another({
      [METRICS_PORT]: String(port),
      'Service:Database:Provider': 'postgres',
      'Service:Database:Path': '',
      'Service:Database:ConnectionString': `postgres://mandate@127.0.0.1:${away}/mandate`,
    });
    const began = performance.now();
    const { value, families } = await scrape(port);
    const took = performance.now() - began;
    expect(value('mandate_database_up')).to.equal(0);
    for (const name of ['mandate_ledger_unsealed_records', 'mandate_ledger_oldest_unsealed_age_seconds'] as const) {
      expect(value(name), name).to.equal(undefined);
      expect(families.has(name)).to.equal(true);
    }
    // The counter exists before its first event: `increase` of a series that begins at one would miss that event.
    expect(value('mandate_requests_total', { surface: 'token', outcome: 'ok' })).to.equal(0);
    expect(value('mandate_denials_total', { event: 'admin.denied', reason: 'invalid_api_key' })).to.equal(0);
    await instance.stop();
    silent.close();
    expect(took).to.be.lessThan(2000);
  });
});
