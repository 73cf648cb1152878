/** Prometheus metrics of a running service (docs/operating.md, "Metrics"). */

import { connect, createServer } from 'node:net';
import { getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import { serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { outcomes, surfaces } from '../../application/ports/telemetry.ts';
import { StartupError } from '../../composition/settings/startup-error.ts';
import { denialReasons } from '../../domain/denial.ts';
import { ledgerEvents } from '../../domain/ledger/record.ts';
import { freePort } from '../../scripts/free-port.ts';
import { connectOutside, databasesByLength, sqliteFile } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/listening.ts';
import { ADMIN_KEY, type Mandate, startMandate } from '../support/mandate.ts';
import { type Scrape, scrape } from '../support/metrics-scrape.ts';
import { rawConnection } from '../support/raw-http.ts';

const METRICS_PORT = 'Service:Metrics:Port';

/** The growth of each counter between two scrapes. */
function grown(before: Scrape, after: Scrape, name: string): Readonly<Record<string, number>> {
  const entries = [...after.values].flatMap(([key, value]) => {
    const growth = value - (before.values.get(key) ?? 0);
    return key.startsWith(`${name}{`) && growth !== 0 ? [[key.slice(name.length), growth] as const] : [];
  });
  return Object.fromEntries(entries);
}

for (const database of databasesByLength) {
  describe(`Metrics on ${database.name}`, () => {
    let port: number;
    let mandate: Mandate;
    before(async () => {
      port = await freePort();
      mandate = await startMandate({ database, settings: { [METRICS_PORT]: String(port) } });
      // With a stopped clock, no summary of denials is recorded between two scrapes.
      mandate.clock.standStill();
    });
    after(() => mandate.stop());
    /** Moves the clock and scrapes, because the service queries the database at most once in five seconds. */
    const look = () => {
      mandate.clock.advance(6);
      return scrape(port);
    };

    it('count and time requests by surface and outcome, and count denials by event and reason', async () => {
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

    it('count refusals of the admin API that a decision records', async () => {
      const agent = await mandate.agent();
      expect((await agent.exchange()).status).to.equal(200);
      await mandate.block('disabled-by-the-provider', 'disabled');
      const before = await look();
      expect((await mandate.admin('DELETE', `/admin/agents/${agent.id}`)).status).to.equal(409);
      const registration = (await mandate.admin('GET', `/admin/agents/${agent.id}`)).body;
      const { enabled: _, created_at: __, updated_at: ___, ...draft } = registration;
      expect((await mandate.admin('POST', '/admin/agents', draft)).status).to.equal(409);
      expect(grown(before, await look(), 'mandate_denials_total')).to.deep.equal({
        '{event="agent.deleted",reason="agent_has_tasks"}': 1,
        '{event="agent.registered",reason="agent_already_exists"}': 1,
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

    it('report the number and age of unsealed records', async () => {
      // Uses its own instance: on the shared one, summaries of other tests may be recorded.
      const ofItsOwn = await freePort();
      const instance = await startMandate({ database, settings: { [METRICS_PORT]: String(ofItsOwn) } });
      instance.clock.standStill();
      const agent = await instance.agent();
      await instance.jobs.seal();
      instance.clock.advance(30);
      const sealed = await scrape(ofItsOwn);
      expect(sealed.value('mandate_ledger_unsealed_records')).to.equal(0);
      expect(sealed.value('mandate_ledger_oldest_unsealed_age_seconds')).to.equal(0);
      expect(sealed.value('mandate_ledger_last_checkpoint_age_seconds')).to.be.within(30, 60);
      await agent.exchange();
      await agent.exchange();
      instance.clock.advance(100);
      const open = await scrape(ofItsOwn);
      expect(open.value('mandate_ledger_unsealed_records')).to.equal(2);
      expect(open.value('mandate_ledger_oldest_unsealed_age_seconds')).to.be.within(100, 130);
      expect(open.value('mandate_database_up')).to.equal(1);
      expect(open.value('mandate_outbox_records', { state: 'waiting' })).to.equal(0);
      expect(open.value('mandate_outbox_oldest_age_seconds')).to.equal(0);
      // The service queries the database again only after five seconds.
      await agent.exchange();
      expect((await scrape(ofItsOwn)).value('mandate_ledger_unsealed_records')).to.equal(2);
      await instance.stop();
    });

    it('report the number and age of records that wait for the sink', async () => {
      // Uses its own instance, because summaries of other tests may be recorded on the shared one.
      const withSink = await freePort();
      const instance = await startMandate({
        database,
        settings: { [METRICS_PORT]: String(withSink), 'Service:Audit:Sink:Url': 'http://127.0.0.1:9/records' },
      });
      await instance.agent();
      await instance.agent();
      instance.clock.advance(70);
      await instance.jobs.drain();
      const { value } = await scrape(withSink);
      expect(value('mandate_outbox_records', { state: 'waiting' })).to.equal(2);
      expect(value('mandate_outbox_records', { state: 'failing' })).to.equal(2);
      expect(value('mandate_outbox_oldest_age_seconds')).to.be.within(70, 100);
      await instance.stop();
    });

    it('of status lists count requests and lists made, and report the indices that tasks hold', async () => {
      const ofItsOwn = await freePort();
      const instance = await startMandate({
        database,
        settings: {
          [METRICS_PORT]: String(ofItsOwn),
          'Service:StatusLists:Enabled': 'true',
          'Service:StatusLists:Entries': '1024',
        },
      });
      instance.clock.standStill();
      const agent = await instance.agent();
      const first = await scrape(ofItsOwn);
      const ours = serviceDefinitions.filter(({ ofStatusLists }) => ofStatusLists).map(({ name }) => name);
      expect(ours).to.have.length(5);
      expect([...first.families.keys()]).to.include.members(ours);
      expect(first.value('mandate_status_lists')).to.equal(0);
      expect(first.value('mandate_status_list_builds_total', { outcome: 'failed' })).to.equal(0);
      expect(first.value('mandate_status_list_newest_age_seconds')).to.equal(undefined);

      const { uri } = getStatusListFromJWT(String((await agent.exchange()).body.access_token));
      await agent.exchange({ resource: 'https://wiki.example' });
      const ask = async (path: string) => (await instance.get(path)).status;
      const path = new URL(uri).pathname;
      expect([await ask(path), await ask(path), await ask(`${path}x`), await ask('/status')]).to.deep.equal([
        ...[200, 200, 404, 200],
      ]);
      // The service counts the indices at most once in five minutes.
      instance.clock.advance(299);
      expect((await scrape(ofItsOwn)).value('mandate_status_lists')).to.equal(0);
      instance.clock.advance(1);
      const then = await scrape(ofItsOwn);
      expect(grown(first, then, 'mandate_requests_total')).to.include({
        '{outcome="ok",surface="status_lists"}': 3,
        '{outcome="refused",surface="status_lists"}': 1,
      });
      expect(grown(first, then, 'mandate_status_list_builds_total')).to.deep.equal({ '{outcome="ok"}': 1 });
      expect(then.value('mandate_status_list_build_duration_seconds_count')).to.equal(1);
      expect(then.value('mandate_status_list_newest_age_seconds')).to.equal(300);
      expect(then.value('mandate_status_lists')).to.equal(2);
      expect(then.value('mandate_status_list_indices', { state: 'held' })).to.equal(2);
      expect(then.value('mandate_status_list_indices', { state: 'free' })).to.equal(2046);
      await instance.stop();
    });

    it('report database connections, used permits, the age of keys and the release', async () => {
      const { value, values } = await look();
      const isPostgres = database.engine === 'postgres';
      expect(value('mandate_database_waiting', { pool: isPostgres ? 'serving' : 'thread' })).to.equal(0);
      const serving = (state: string) => value('mandate_database_connections', { pool: 'serving', state });
      expect([serving('most'), serving('used')]).to.deep.equal(isPostgres ? [8, 0] : [undefined, undefined]);
      expect(value('mandate_admission_turns_busy', { work: 'token' })).to.equal(0);
      expect(value('mandate_admission_turns_waiting', { work: 'revoking' })).to.equal(0);
      expect(value('mandate_key_set_age_seconds', { owner: 'identity_provider' })).to.be.a('number');
      expect(value('mandate_key_set_age_seconds', { owner: 'transmitter' })).to.equal(undefined);
      expect(value('mandate_sponsor_check_circuit_open')).to.equal(undefined);
      expect([...values.keys()].filter((key) => key.startsWith('mandate_signing_key_info'))).to.have.length(1);
      expect([...values.keys()].join()).to.match(/mandate_build_info\{version="\d+\.\d+\.\d+/);
      expect(value('process_resident_memory_bytes')).to.be.greaterThan(1e7);
      expect(value('process_open_fds')).to.be.greaterThan(5);
      expect(value('nodejs_eventloop_lag_p99_seconds')).to.be.a('number');
    });

    it('have labels only from fixed sets, and no value from a request', async () => {
      const { values, families, text } = await look();
      const labelsOf = (name: string, label: string) =>
        new Set(
          [...values.keys()].flatMap((key) =>
            key.startsWith(name) ? (new RegExp(`[{,]${label}="([^"]*)"`).exec(key)?.[1] ?? []) : [],
          ),
        );
      // This service has no status lists, no surface for people, no transparency log, and no console.
      const served = surfaces.filter((surface) => !['status_lists', 'me', 'log', 'console'].includes(surface));
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
        serviceDefinitions.filter(({ ofStatusLists }) => !ofStatusLists).map(({ name, help }) => [name, help]),
      );
    });

    it('are served at /metrics on a separate port, where every other path answers 404', async () => {
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

  it('are not served after the service has stopped', async () => {
    const port = await freePort();
    const instance = await mandate.another({ [METRICS_PORT]: String(port) });
    await scrape(port);
    await instance.stop();
    const gone = await scrape(port).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(TypeError);
  });

  it('prevent the start if their port is in use, with an error that names the setting', async () => {
    const taken = createServer();
    const port = await listen(taken);
    const failed = await mandate.another({ [METRICS_PORT]: String(port) }).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(StartupError);
    expect((failed as StartupError).reasons).to.deep.equal([
      `Port ${port} on 127.0.0.1 is already in use (Service:Metrics:Port, HOST).`,
    ]);
    taken.close();
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
