/** The alerts. After a change, scripts/observability/main.ts writes them to docs/operating.md and Prometheus's rules. */

export interface Alert {
  /** The name in Prometheus. */
  readonly name: `Mandate${string}`;
  readonly expression: string;
  /** How long the expression must hold, for example `2m`. Absent if it alerts at once. */
  readonly holds?: string;
  /** `critical`: agents are not served, or the guarantees are at risk. `warning`: someone should look on the same day. */
  readonly severity: 'critical' | 'warning';
  readonly why: string;
  /** Where to look first, as Markdown for docs/operating.md. */
  readonly first: string;
}

const PROVIDER_IS_DOWN = '[the provider is down](#the-identity-provider-is-down)';

export const alerts: readonly Alert[] = [
  {
    name: 'MandateReplicaDown',
    expression: 'up{job="mandate"} == 0',
    holds: '2m',
    severity: 'critical',
    why: 'a replica is down, or too busy to answer',
    first: "its log's last lines; `/healthz`",
  },
  {
    name: 'MandateNotScraped',
    expression: 'absent(up{job="mandate"})',
    holds: '5m',
    severity: 'critical',
    why: 'Prometheus finds no replica at all, so no other alert can say anything',
    first: 'the orchestrator; the targets of the job `mandate` in Prometheus',
  },
  {
    name: 'MandateDatabaseDown',
    expression: 'mandate_database_up == 0',
    holds: '1m',
    severity: 'critical',
    why: 'nothing can be decided: every answer is 503',
    first: '`mandate doctor`; [the database is lost](#the-database-is-lost-or-restored-from-a-backup)',
  },
  {
    name: 'MandateDecisionsFailing',
    expression: 'mandate_database_decisions_failing == 1',
    holds: '1m',
    severity: 'critical',
    why: 'no decision succeeds, though the database may answer: a full disk, a lock, no connection, a lost standby',
    first: '`/readyz` as JSON and `mandate doctor` name the cause; [nothing can be decided](#nothing-can-be-decided)',
  },
  {
    name: 'MandateClocksDisagree',
    expression: 'abs(mandate_database_clock_difference_seconds) > 30',
    holds: '1m',
    severity: 'critical',
    why: "a replica's clock differs from the database's: it ends no tasks and deletes nothing, and refuses assertions that one of the clocks finds expired",
    first: '[the clock is wrong](#the-clock-is-wrong)',
  },
  {
    name: 'MandateRequestsNotServed',
    expression:
      'sum(rate(mandate_requests_total{surface!~"health|status_lists",outcome=~"unavailable|failed"}[5m])) / sum(rate(mandate_requests_total{surface!~"health|status_lists"}[5m])) > 0.02',
    holds: '5m',
    severity: 'critical',
    why: 'agents are not served',
    first: "`mandate_denials_total` by `reason` tells the provider's fault from the database's",
  },
  {
    name: 'MandateStatusListsNotServed',
    expression:
      'sum(rate(mandate_requests_total{surface="status_lists",outcome!~"ok|refused|aborted"}[5m])) / sum(rate(mandate_requests_total{surface="status_lists"}[5m])) > 0.02',
    holds: '5m',
    severity: 'critical',
    why: 'tool servers that poll status lists introspect every token, or refuse it',
    first:
      '`mandate_status_list_builds_total` with `failed` means the database; else `mandate_admission_refusals_total` of kind `introspection`',
  },
  {
    name: 'MandateRequestsFailed',
    expression: 'increase(mandate_requests_total{outcome="failed"}[10m]) > 0',
    severity: 'critical',
    why: 'a fault of the service, or a proof that does not hold',
    first: "the log's `a request failed`; `mandate audit-verify`",
  },
  {
    name: 'MandateTokensSlow',
    expression:
      'histogram_quantile(0.99, sum by (le) (rate(mandate_request_duration_seconds_bucket{surface="token"}[5m]))) > 1',
    holds: '10m',
    severity: 'warning',
    why: 'agents wait',
    first: '`mandate_database_waiting`, then `mandate_sponsor_check_circuit_open`: they show which dependency is slow',
  },
  {
    name: 'MandateOverloaded',
    expression: 'sum(rate(mandate_admission_refusals_total{reason="overloaded"}[5m])) > 1',
    holds: '5m',
    severity: 'critical',
    why: 'more requests arrive than the service can handle',
    first: '[overload](#overload)',
  },
  {
    name: 'MandateRateLimiting',
    expression: 'sum(rate(mandate_admission_refusals_total{reason="rate_limited"}[5m])) > 10',
    holds: '10m',
    severity: 'warning',
    why: 'one source floods, or a proxy is not in `Service:RateLimit:TrustedProxies` and all its clients count as one source',
    first: "the proxies' logs: the metric names no source",
  },
  {
    name: 'MandateLedgerNotSealed',
    expression: 'mandate_ledger_oldest_unsealed_age_seconds > 180',
    holds: '2m',
    severity: 'critical',
    why: 'nothing is sealed: three times `Service:Audit:Checkpoint:Interval`',
    first: "the log's `a recurring pass failed`; `mandate doctor`",
  },
  {
    name: 'MandateSinkBehind',
    expression: 'mandate_outbox_oldest_age_seconds > 600',
    severity: 'warning',
    why: "the sink's copy falls behind",
    first: '[the sink is down](#the-sink-is-down)',
  },
  {
    name: 'MandateKeysNotFetched',
    expression: 'mandate_key_set_age_seconds > 900',
    severity: 'warning',
    why: 'keys are fetched every five minutes, and were not',
    first: PROVIDER_IS_DOWN,
  },
  {
    name: 'MandateKeysNeverFetched',
    expression: 'up{job="mandate"} == 1 unless on (instance) mandate_key_set_age_seconds{owner="identity_provider"}',
    holds: '15m',
    severity: 'critical',
    why: "a replica has never fetched the provider's keys: it is not ready",
    first: PROVIDER_IS_DOWN,
  },
  {
    name: 'MandateSponsorCheckFailing',
    expression: 'mandate_sponsor_check_circuit_open == 1',
    holds: '1m',
    severity: 'critical',
    why: 'the provider cannot be asked about people: exchanges are refused',
    first: PROVIDER_IS_DOWN,
  },
  {
    name: 'MandateSuspiciousDenials',
    expression:
      'sum by (reason) (rate(mandate_denials_total{reason=~"actor_replayed|actor_invalid_signature|subject_invalid_signature|subject_untrusted_issuer|subject_is_agent"}[10m])) > 0.1',
    holds: '10m',
    severity: 'warning',
    why: 'an agent is broken, or an attack',
    first: '`GET /audit?decision=deny`; [an agent is compromised](#an-agent-is-compromised)',
  },
  {
    name: 'MandateTokenMismatch',
    expression: 'increase(mandate_token_mismatches_total[10m]) > 0',
    severity: 'critical',
    why: 'a task token with a valid signature says something else than its stored task: the only sign of a disclosed signing key',
    first: '[the signing key is disclosed](#the-signing-key-is-disclosed)',
  },
  {
    name: 'MandateAdminKeyGuessed',
    expression: 'increase(mandate_denials_total{event="admin.denied",reason="invalid_api_key"}[10m]) > 10',
    severity: 'warning',
    why: 'a client guesses the admin key, or a job has an old one',
    first: 'who can reach `/admin`',
  },
  {
    name: 'MandateDatabaseBusy',
    expression: 'sum by (instance) (mandate_database_waiting{pool="serving"}) > 16',
    holds: '1m',
    severity: 'warning',
    why: 'the pool of connections is too small, or Postgres too slow',
    first: 'its slowest statements and locks',
  },
  {
    name: 'MandateProcessorBusy',
    expression: 'nodejs_eventloop_lag_p99_seconds{job="mandate"} > 0.1',
    holds: '5m',
    severity: 'warning',
    why: 'the process lacks CPU',
    first: '[overload](#overload)',
  },
  {
    name: 'MandateFilesRunningOut',
    expression: 'process_open_fds{job="mandate"} / process_max_fds{job="mandate"} > 0.8',
    severity: 'warning',
    why: 'connections will soon be refused',
    first: '`ulimit -n`, and which clients hold so many',
  },
  {
    name: 'MandateRotationUnfinished',
    expression: 'count(count by (kid) (mandate_signing_key_info{state="active"})) > 1',
    holds: '1h',
    severity: 'warning',
    why: 'a rotation stopped half way',
    first: '[rotating](#rotating-the-signing-key)',
  },
  {
    name: 'MandateRolloutUnfinished',
    expression: 'count(count by (version) (mandate_build_info)) > 1',
    holds: '1h',
    severity: 'warning',
    why: 'a roll-out stopped half way',
    first: 'the orchestrator',
  },
];
