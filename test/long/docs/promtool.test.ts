/**
 * `promtool`, the tool of Prometheus, reads the configuration, the rules and the dashboard's queries, and lets every
 * alert fire. It is in Debian's package `prometheus`, and is found in the PATH or as $PROMTOOL. Without it the tests
 * fail.
 */

import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { guardMetrics } from '../../../adapters/sdk/tool-server/guard/guard-metrics.ts';
import { alertRules, queries } from '../../support/observability-files.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/examples/observability/', import.meta.url));
const RULES = join(FOLDER, 'mandate.rules.yaml');
const PROMTOOL = process.env.PROMTOOL ?? 'promtool';

/** Runs promtool. Resolves with its output. */
function promtool(...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(PROMTOOL, args, (error, out, err) => {
      if (error === null) resolve(`${out}${err}`);
      else if (error.code === 'ENOENT') reject(new Error('There is no promtool: apt-get install prometheus.'));
      else reject(new Error(`${out}${err}`));
    });
  });
}

const REPLICA = 'job="mandate",instance="a"';

/** For each alert, the series that let it fire, in promtool's notation with one sample a minute. */
const FIRED_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  MandateReplicaDown: { [`up{${REPLICA}}`]: '0x120' },
  MandateNotScraped: { 'up{job="another"}': '1x120' },
  MandateDatabaseDown: { [`mandate_database_up{${REPLICA}}`]: '0x120' },
  MandateDecisionsFailing: { [`mandate_database_decisions_failing{${REPLICA}}`]: '1x120' },
  MandateClocksDisagree: { [`mandate_database_clock_difference_seconds{${REPLICA}}`]: '-31x120' },
  MandateRequestsNotServed: {
    [`mandate_requests_total{${REPLICA},surface="token",outcome="ok"}`]: '0+90x120',
    [`mandate_requests_total{${REPLICA},surface="token",outcome="unavailable"}`]: '0+10x120',
    // The rate of errors must not include the answered health checks and polls.
    [`mandate_requests_total{${REPLICA},surface="health",outcome="ok"}`]: '0+900x120',
    [`mandate_requests_total{${REPLICA},surface="status_lists",outcome="ok"}`]: '0+9000x120',
  },
  MandateStatusListsNotServed: {
    [`mandate_requests_total{${REPLICA},surface="status_lists",outcome="ok"}`]: '0+90x120',
    [`mandate_requests_total{${REPLICA},surface="status_lists",outcome="rate_limited"}`]: '0+10x120',
  },
  MandateRequestsFailed: {
    [`mandate_requests_total{${REPLICA},surface="token",outcome="failed"}`]: '0+1x120',
  },
  MandateTokensSlow: {
    [`mandate_request_duration_seconds_bucket{${REPLICA},surface="token",le="1"}`]: '0+90x120',
    [`mandate_request_duration_seconds_bucket{${REPLICA},surface="token",le="2.5"}`]: '0+100x120',
    [`mandate_request_duration_seconds_bucket{${REPLICA},surface="token",le="+Inf"}`]: '0+100x120',
  },
  MandateOverloaded: {
    [`mandate_admission_refusals_total{${REPLICA},reason="overloaded",kind="other"}`]: '0+120x120',
  },
  MandateRateLimiting: {
    [`mandate_admission_refusals_total{${REPLICA},reason="rate_limited",kind="main"}`]: '0+1200x120',
  },
  MandateLedgerNotSealed: { [`mandate_ledger_oldest_unsealed_age_seconds{${REPLICA}}`]: '0+60x120' },
  MandateSinkBehind: { [`mandate_outbox_oldest_age_seconds{${REPLICA}}`]: '0+60x120' },
  MandateKeysNotFetched: { [`mandate_key_set_age_seconds{${REPLICA},owner="transmitter"}`]: '0+60x120' },
  MandateKeysNeverFetched: {
    [`up{${REPLICA}}`]: '1x120',
    'up{job="mandate",instance="b"}': '1x120',
    'mandate_key_set_age_seconds{job="mandate",instance="b",owner="identity_provider"}': '10x120',
  },
  MandateSponsorCheckFailing: { [`mandate_sponsor_check_circuit_open{${REPLICA}}`]: '1x120' },
  MandateSuspiciousDenials: {
    [`mandate_denials_total{${REPLICA},event="token.denied",reason="actor_replayed"}`]: '0+12x120',
  },
  MandateTokenMismatch: { [`mandate_token_mismatches_total{${REPLICA},surface="introspection"}`]: '0+1x120' },
  MandateAdminKeyGuessed: {
    [`mandate_denials_total{${REPLICA},event="admin.denied",reason="invalid_api_key"}`]: '0+2x120',
  },
  MandateDatabaseBusy: { [`mandate_database_waiting{${REPLICA},pool="serving"}`]: '17x120' },
  MandateProcessorBusy: { [`nodejs_eventloop_lag_p99_seconds{${REPLICA}}`]: '0.2x120' },
  MandateFilesRunningOut: {
    [`process_open_fds{${REPLICA}}`]: '900x120',
    [`process_max_fds{${REPLICA}}`]: '1000x120',
  },
  MandateRotationUnfinished: {
    [`mandate_signing_key_info{${REPLICA},kid="k1",state="active"}`]: '1x120',
    'mandate_signing_key_info{job="mandate",instance="b",kid="k2",state="active"}': '1x120',
  },
  MandateRolloutUnfinished: {
    [`mandate_build_info{${REPLICA},version="1"}`]: '1x120',
    'mandate_build_info{job="mandate",instance="b",version="2"}': '1x120',
  },
};

describe('promtool', function () {
  this.timeout(120_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-promtool-'));
    copyFileSync(RULES, join(folder, 'mandate.rules.yaml'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('accepts the configuration and the rules', async () => {
    expect(await promtool('check', 'config', join(FOLDER, 'prometheus.yaml'))).to.include('SUCCESS');
    expect(await promtool('check', 'rules', RULES)).to.include(`SUCCESS: ${alertRules.length} rules found`);
  });

  it('accepts the metrics of the guard', () => {
    const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], {
      input: guardMetrics().text(),
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).to.deep.equal({ status: 0, stdout: '', stderr: '' });
  });

  it('accepts every query of the dashboard', async () => {
    const rules = queries.map(({ expr }, index) => {
      return { record: `query:${index}`, expr: expr.replaceAll('$__rate_interval', '5m') };
    });
    const file = join(folder, 'dashboard.yaml');
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect(await promtool('check', 'rules', file)).to.include(`SUCCESS: ${queries.length} rules found`);
  });

  it('has time series for each alert', () => {
    expect(Object.keys(FIRED_BY).toSorted()).to.deep.equal(alertRules.map(({ alert }) => alert).toSorted());
  });

  for (const [name, series] of Object.entries(FIRED_BY)) {
    it(`lets ${name} fire with its series, and not without them`, async () => {
      const test = (given: Readonly<Record<string, string>>, count: number) => ({
        interval: '1m',
        input_series: Object.entries(given).map(([one, values]) => ({ series: one, values })),
        promql_expr_test: [
          {
            // The number of firing alerts of this name.
            expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
            eval_time: '115m',
            exp_samples: [{ labels: '{}', value: count }],
          },
        ],
      });
      // A healthy replica: without any series of the job, its absence would be an alert.
      const quiet = { 'up{job="mandate",instance="c"}': '1x120' };
      const keysFetched = {
        'mandate_key_set_age_seconds{job="mandate",instance="c",owner="identity_provider"}': '10x120',
      };
      const file = join(folder, `${name}.yaml`);
      const tests = [test(series, 1), test({ ...quiet, ...keysFetched }, 0)];
      writeFileSync(file, stringify({ rule_files: ['mandate.rules.yaml'], evaluation_interval: '1m', tests }));
      expect(await promtool('test', 'rules', file)).to.include('SUCCESS');
    });
  }
});
