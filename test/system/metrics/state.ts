/** The metrics of the ledger, the sink, status lists, connections and keys. */

import { getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import { serviceDefinitions } from '../../../adapters/telemetry/service-metrics.ts';
import { approvalSteps } from '../../../application/ports/telemetry.ts';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { JIRA, startMandate } from '../../support/mandate.ts';
import { scrape } from '../../support/metrics-scrape.ts';
import { approvalSettings, askingServer, asks, digestOf } from '../../support/tool-server/approval-request.ts';
import type { Scraped } from './scraped.ts';
import { grown, METRICS_PORT } from './scraped.ts';

export function testState(scraped: Scraped, database: TestDatabase): void {
  const { look } = scraped;

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

  it('of approvals count each question, answer and use once, and those that wait; without approvals they do not exist', async () => {
    const [ofItsOwn, audience] = [await freePort(), 'https://mandate.test/me'];
    const clock = { issuer: () => instance.issuer, now: () => instance.clock.seconds() };
    const jira = await askingServer(JIRA, clock);
    const instance = await startMandate({
      database,
      settings: {
        [METRICS_PORT]: String(ofItsOwn),
        'Service:Me:Audience': audience,
        'Service:Me:ClientId': 'the-page',
        ...approvalSettings(jira),
      },
    });
    const agent = await instance.agent();
    const steps = async () => {
      const { value } = await scrape(ofItsOwn);
      const counted = approvalSteps.map((step) => value('mandate_approvals_total', { step }));
      return [...counted, value('mandate_approvals_waiting')];
    };
    expect(await steps()).to.deep.equal([0, 0, 0, 0, 0]);
    const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
    const ask = async (what: string) =>
      String((await asks(instance, token, jira.request(taskId, { digest: digestOf(what) }))).body.approval_id);
    const answer = async (id: string, decision: 'approve' | 'refuse') => {
      const { commitment } = await instance.approval(id);
      const authorization = `Bearer ${agent.subjectToken({ aud: audience, auth_time: instance.clock.seconds() })}`;
      const body = JSON.stringify({ decision, commitment });
      const headers = { authorization, 'content-type': 'application/json' };
      expect((await instance.send(`/me/approvals/${id}`, { method: 'POST', headers, body })).status).to.equal(200);
    };
    const [yes, no] = [await ask('1'), await ask('2')];
    await ask('3');
    await ask('1');
    // The number of those that wait is read again after five seconds.
    instance.clock.advance(5);
    expect(await steps()).to.deep.equal([3, 0, 0, 0, 3]);
    for (let time = 0; time < 2; time += 1) {
      await answer(yes, 'approve');
      await answer(no, 'refuse');
    }
    for (let time = 0; time < 2; time += 1) await ask('1');
    instance.clock.advance(5);
    expect(await steps()).to.deep.equal([3, 1, 1, 1, 1]);
    await instance.stop();
    expect([...(await look()).families.keys()].filter((name) => name.includes('approval'))).to.deep.equal([]);
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
    const ours = serviceDefinitions.filter(({ only }) => only === 'status_lists').map(({ name }) => name);
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
}
