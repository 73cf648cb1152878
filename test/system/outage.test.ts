/** A database that does not answer: the service answers 503 in time, and issues no token without a record. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { connectOutside, type FreshDatabase, postgres, sqliteFile, type TestDatabase } from '../support/databases.ts';
import {
  type Answer,
  fieldsOf,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../support/mandate.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';

/** Every response arrives within this time, because the time limits of database queries are shorter. */
const IN_TIME_MS = 9000;

/** In seconds, the default of Service:Audit:Aggregation:Window. */
const AGGREGATION_WINDOW = 60;

const POLL_MS = 50;

function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.headers.get('retry-after')).to.equal('5');
  expect(answer.body).to.have.all.keys('error', 'error_description');
  expect(answer.body.error).to.equal('temporarily_unavailable');
}

/** Repeats `act` while it fails, because a connection attempt from the outage may fail only after the outage. */
async function onceItAnswers(act: () => Promise<void>): Promise<void> {
  const until = performance.now() + IN_TIME_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || performance.now() > until) throw error;
    }
  }
}

describe('A Postgres that does not answer', function () {
  this.timeout(60_000);
  let proxy: TcpProxy;
  let database: FreshDatabase;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    database = await postgres.fresh();
    const uri = new URL(database.settings['Service:Database:ConnectionString'] ?? '');
    proxy = await tcpProxy(Number(uri.port));
    uri.port = String(proxy.port);
    const settings = { ...database.settings, 'Service:Database:ConnectionString': uri.href };
    const proxied: TestDatabase = { ...postgres, fresh: async () => ({ ...database, settings }) };
    mandate = await startMandate({ database: proxied });
    agent = await mandate.agent();
  });
  beforeEach(async () => {
    while ((await agent.exchange()).status !== 200) await pause(POLL_MS);
    // Ends the aggregation windows of earlier tests.
    mandate.clock.advance(AGGREGATION_WINDOW);
    await mandate.jobs.closeWindows();
  });
  afterEach(() => proxy.resume());
  after(async () => {
    await mandate.stop();
    await proxy.close();
  });

  it('makes every endpoint answer 503 with Retry-After in time, and the service recovers without a restart', async function () {
    // Retries, because a busy machine may exceed the time limit.
    this.retries(2);
    const issued = await agent.exchange();
    expect(issued.status, issued.text).to.equal(200);
    const [token, grant] = [String(issued.body.access_token), String(issued.body.refresh_token)];
    const lines = await mandate.recorded(async () => {
      proxy.silence();
      const started = performance.now();
      const answers = await Promise.all([
        agent.exchange(),
        agent.refresh(grant),
        agent.revoke(grant),
        mandate.post('/oauth2/introspect', { token }),
      ]);
      expect(performance.now() - started).to.be.below(IN_TIME_MS);
      for (const answer of answers) expectUnavailable(answer);
      expect((await mandate.get('/healthz')).status).to.equal(200);
      const ready = await mandate.get('/readyz');
      expect(ready.status).to.equal(503);
      expect(ready.text).to.equal('Unhealthy');
      // The service refuses this request without the database.
      expect((await mandate.post('/oauth2/token', { grant_type: 'password' })).body.error).to.equal(
        'unsupported_grant_type',
      );
      proxy.resume();
      // The record of that denial could not be written, so the next summary counts it.
      mandate.clock.advance(AGGREGATION_WINDOW);
      await onceItAnswers(() => mandate.jobs.closeWindows());
    });
    expect(lines.at(-1)).to.include({ event: 'token.denied', reason: 'unsupported_grant_type', count: 1 });
    expect(lines.filter((line) => line.event === 'token.issued')).to.have.lengthOf(0);
    expect((await mandate.introspect(token)).active).to.equal(true);
    expect((await agent.exchange()).status).to.equal(200);
    expect((await mandate.untilReady()).status).to.equal(200);
  });

  it("issues no token while the database's answers are lost, and one task when the agent retries", async () => {
    const form = agent.exchangeForm();
    const lines = await mandate.recorded(async () => {
      proxy.silence('answers');
      expectUnavailable(await mandate.post('/oauth2/token', form));
      proxy.resume();
      // The transaction was rolled back, so the assertion is still unused.
      const again = await mandate.post('/oauth2/token', form);
      expect(again.status, again.text).to.equal(200);
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.issued', null]]);
  });
});

describe('A SQLite file that another process has locked', () => {
  it('makes the service answer 503 and record nothing until the other process releases the lock', async function () {
    this.timeout(30_000);
    const database = await sqliteFile.fresh();
    await withService(startMandate({ database: { ...sqliteFile, fresh: async () => database } }), async (mandate) => {
      const agent = await mandate.agent();
      const other = await connectOutside(database);
      const lines = await mandate.recorded(async () => {
        await other.sql('begin immediate');
        expectUnavailable(await agent.exchange());
        const ready = await mandate.get('/readyz', { accept: 'application/json' });
        expect(ready.status).to.equal(200);
        expect((ready.body.checks as Record<string, unknown>).database).to.deep.equal({
          status: 'Degraded',
          detail:
            'Decisions fail: another process holds the write lock of the SQLite file (SQLITE_BUSY). Introspection and key sets are served.',
        });
        await other.sql('rollback');
      });
      await other.close();
      expect(lines).to.deep.equal([]);
      expect((await agent.exchange()).status).to.equal(200);
      expect((await mandate.untilReady()).text).to.equal('Healthy');
    });
  });
});
