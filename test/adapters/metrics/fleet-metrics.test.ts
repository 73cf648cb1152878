import { expect } from 'chai';
import { type FleetMetrics, fleetMetrics } from '../../../adapters/metrics/fleet-metrics.ts';
import { type Samples, serviceMetrics } from '../../../adapters/metrics/service-metrics.ts';
import { timeLimit } from '../../../adapters/system/time-limit.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { readScrape } from '../../support/samples.ts';

/** A worker that answered so many token requests, as it speaks to its primary. */
function worker(answered: number, busy: number, keysAge: number) {
  const metrics = serviceMetrics(timeLimit);
  metrics.observe({
    version: '9.8.7',
    now: () => NOON,
    turns: () => [{ work: 'token', busy, waiting: 1 }],
    lines: () => [{ name: 'serving', waiting: 2, connections: { used: 3, free: 4, most: 16 } }],
    backlog: async () => ({
      sealing: { oldestUnsealedAt: plusSeconds(NOON, -7), unsealed: 5, newestCheckpoint: undefined },
      outbox: { queueing: true, waiting: 11, failing: 2, oldestAt: undefined },
    }),
    isCircuitOpen: () => true,
    keySets: () => [{ owner: 'identity_provider', fetchedAt: plusSeconds(NOON, -keysAge) }],
    signingKeys: () => ({ kids: ['a', 'b'], active: 'b' }),
  });
  for (let count = 0; count < answered; count += 1) metrics.measurements.answered('token', 'ok', 0.004);
  return {
    ...metrics,
    /** As JSON, which is how it travels. */
    said: async (database: boolean): Promise<Samples> => JSON.parse(JSON.stringify(await metrics.samples(database))),
  };
}

const text = async (fleet: FleetMetrics, heard: readonly (readonly [number, Samples])[]) =>
  readScrape(await fleet.text(new Map(heard), 2));

const ok = { surface: 'token', outcome: 'ok' };

describe('the measures of several workers', () => {
  it('are sums where that means something, and stand one by one where it does not', async () => {
    const fleet = fleetMetrics();
    fleet.began(1);
    fleet.began(2);
    const [first, second] = [worker(3, 2, 10), worker(4, 5, 20)];
    const { value } = await text(fleet, [
      [1, await first.said(true)],
      [2, await second.said(false)],
    ]);
    expect(value('mandate_requests_total', ok)).to.equal(7);
    expect(value('mandate_requests_total', { ...ok, outcome: 'failed' })).to.equal(0);
    expect(value('mandate_request_duration_seconds_count', { surface: 'token' })).to.equal(7);
    expect(value('mandate_request_duration_seconds_bucket', { surface: 'token', le: '0.005' })).to.equal(7);
    expect(value('mandate_request_duration_seconds_bucket', { surface: 'token', le: '0.0025' })).to.equal(0);
    expect(value('mandate_admission_turns_busy', { work: 'token' })).to.equal(7);
    expect(value('mandate_database_connections', { pool: 'serving', state: 'used' })).to.equal(6);
    expect(value('mandate_key_set_age_seconds', { owner: 'identity_provider', worker: '1' })).to.equal(10);
    expect(value('mandate_key_set_age_seconds', { owner: 'identity_provider', worker: '2' })).to.equal(20);
    expect(value('mandate_sponsor_check_circuit_open', { worker: '2' })).to.equal(1);
    // The one database, whoever was asked about it.
    expect(value('mandate_database_up')).to.equal(1);
    expect(value('mandate_ledger_unsealed_records')).to.equal(5);
    expect(value('mandate_ledger_oldest_unsealed_age_seconds')).to.equal(7);
    expect(value('mandate_ledger_last_checkpoint_age_seconds')).to.equal(undefined);
    expect(value('mandate_outbox_records', { state: 'failing' })).to.equal(2);
    expect(value('mandate_signing_key_info', { kid: 'b', state: 'active' })).to.equal(1);
    expect(value('mandate_build_info', { version: '9.8.7' })).to.equal(1);
    expect(value('mandate_workers', { state: 'wanted' })).to.equal(2);
    expect(value('mandate_workers', { state: 'answered' })).to.equal(2);
    expect(value('nodejs_eventloop_lag_p99_seconds', { worker: 'primary' })).to.be.a('number');
  });

  it('never fall when one ends and another takes its place, nor when one does not answer', async () => {
    const fleet = fleetMetrics();
    fleet.began(1);
    fleet.began(2);
    const [first, second] = [worker(3, 2, 10), worker(4, 5, 20)];
    await text(fleet, [
      [1, await first.said(true)],
      [2, await second.said(false)],
    ]);

    const silent = await text(fleet, [[2, await second.said(true)]]);
    expect(silent.value('mandate_requests_total', ok)).to.equal(7);
    expect(silent.value('mandate_admission_turns_busy', { work: 'token' })).to.equal(5);
    expect(silent.value('mandate_workers', { state: 'answered' })).to.equal(1);

    fleet.ended(1);
    fleet.began(3);
    const third = worker(1, 0, 30);
    const replaced = await text(fleet, [
      [2, await second.said(true)],
      [3, await third.said(false)],
    ]);
    expect(replaced.value('mandate_requests_total', ok)).to.equal(8);
    expect(replaced.value('mandate_worker_ends_total')).to.equal(1);
    expect(replaced.value('mandate_key_set_age_seconds', { owner: 'identity_provider', worker: '1' })).to.equal(30);

    fleet.ended(3);
    const alone = await text(fleet, [[2, await second.said(true)]]);
    expect(alone.value('mandate_requests_total', ok)).to.equal(8);
    expect(alone.value('mandate_request_duration_seconds_sum', { surface: 'token' })).to.be.closeTo(0.032, 1e-9);
  });

  it('say nothing of the database where nobody answered who was asked', async () => {
    const fleet = fleetMetrics();
    fleet.began(1);
    const { value } = await text(fleet, [[1, await worker(1, 0, 0).said(false)]]);
    expect(value('mandate_database_up')).to.equal(undefined);
    expect(value('mandate_ledger_unsealed_records')).to.equal(undefined);
  });
});
