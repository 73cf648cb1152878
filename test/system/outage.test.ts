/** A database that cannot answer: a refusal that says so, in time, and never a token without its record. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { databases, type FreshDatabase, type TestDatabase } from '../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';

/** Every answer comes within this, whatever the database does: its own limits are shorter. */
const IN_TIME_MS = 9000;

/** Seconds: the default of Service:Audit:Aggregation:Window. */
const AGGREGATION_WINDOW = 60;

const POLL_MS = 50;

function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.headers.get('retry-after')).to.equal('5');
  expect(answer.body).to.have.all.keys('error', 'error_description');
  expect(answer.body.error).to.equal('temporarily_unavailable');
}

/** Connections that were being made when the database came back take a while to be given up. */
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

describe('a Postgres that falls silent', function () {
  this.timeout(60_000);
  const [postgres] = databases.filter((database) => database.engine === 'postgres');
  let proxy: TcpProxy;
  let database: FreshDatabase;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    if (postgres === undefined) throw new Error('there is no Postgres to test on');
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
    // What was counted before.
    mandate.clock.advance(AGGREGATION_WINDOW);
    await mandate.jobs.closeWindows();
  });
  afterEach(() => proxy.resume());
  after(async () => {
    await mandate.stop();
    await proxy.close();
  });

  it('is answered with 503 and a time to come back, in time, on every endpoint, and serves again once it is back', async function () {
    // It is elapsed time that is promised.
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
      // A refusal that names nobody is answered even then.
      expect((await mandate.post('/oauth2/token', { grant_type: 'password' })).body.error).to.equal(
        'unsupported_grant_type',
      );
      proxy.resume();
      // It had no record then, so it is in the next summary, alone as it is.
      mandate.clock.advance(AGGREGATION_WINDOW);
      await onceItAnswers(() => mandate.jobs.closeWindows());
    });
    expect(lines.at(-1)).to.include({ event: 'token.denied', reason: 'unsupported_grant_type', count: 1 });
    expect(lines.filter((line) => line.event === 'token.issued')).to.have.lengthOf(0);
    expect((await mandate.post('/oauth2/introspect', { token })).body.active).to.equal(true);
    expect((await agent.exchange()).status).to.equal(200);
    expect((await mandate.untilReady()).status).to.equal(200);
  });

  it('gives no token while the answers of Postgres are lost, and opens one task when the agent tries again', async () => {
    const form = agent.exchangeForm();
    const lines = await mandate.recorded(async () => {
      proxy.silence('answers');
      expectUnavailable(await mandate.post('/oauth2/token', form));
      proxy.resume();
      // The transaction was never committed, so its assertion is not spent.
      const again = await mandate.post('/oauth2/token', form);
      expect(again.status, again.text).to.equal(200);
    });
    expect(lines.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.issued', null]]);
  });
});

describe('a SQLite file that another process keeps locked', () => {
  it('is answered with 503 while it is locked, writes nothing then, and serves again afterwards', async function () {
    this.timeout(30_000);
    const [sqlite] = databases.filter((one) => one.engine === 'sqlite');
    const database = await sqlite?.fresh();
    if (sqlite === undefined || database?.outside === undefined) throw new Error('there is no SQLite file to test on');
    const mandate = await startMandate({ database: { ...sqlite, fresh: async () => database } });
    const agent = await mandate.agent();
    const other = await database.outside();
    const lines = await mandate.recorded(async () => {
      await other.sql('begin immediate');
      expectUnavailable(await agent.exchange());
      const ready = await mandate.get('/readyz', { accept: 'application/json' });
      expect(ready.status).to.equal(503);
      expect((ready.body.checks as Record<string, unknown>).database).to.deep.equal({
        status: 'Unhealthy',
        detail: 'SQLite takes no writes: the file is read-only, or another process holds its write lock.',
      });
      await other.sql('rollback');
    });
    await other.close();
    expect(lines).to.deep.equal([]);
    expect((await agent.exchange()).status).to.equal(200);
    expect((await mandate.untilReady()).text).to.equal('Healthy');
    await mandate.stop();
  });
});
