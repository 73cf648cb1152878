/**
 * Every metric of the service with its HELP text; docs/operating.md has the same table. Names and units follow
 * the conventions of Prometheus: base units, and `_total` for counters.
 */

export interface Definition {
  readonly name: `mandate_${string}`;
  readonly help: string;
  readonly labelNames: readonly string[];
}

const counter = (name: `mandate_${string}_total`, labelNames: readonly string[], help: string) => ({
  ...{ kind: 'counter' as const, name, help, labelNames },
});
const gauge = (name: `mandate_${string}`, labelNames: readonly string[], help: string) => ({
  kind: 'gauge' as const,
  name,
  help,
  labelNames,
});

export const REQUESTS = counter(
  'mandate_requests_total',
  ['surface', 'outcome'],
  'Requests that were answered, or whose client disconnected, by surface and outcome.',
);
export const DURATIONS = {
  kind: 'histogram' as const,
  name: 'mandate_request_duration_seconds' as const,
  labelNames: ['surface'] as readonly string[],
  help: 'From the head of a request to the end of its response, including the wait for a permit.',
};
export const DENIALS = counter(
  'mandate_denials_total',
  ['event', 'reason'],
  'Denials, by the event and the reason of their record. An anonymous denial counts at once, even if the ledger only aggregates it.',
);
export const ADMISSION_REFUSALS = counter(
  'mandate_admission_refusals_total',
  ['reason', 'kind'],
  'Requests refused at admission: rate_limited by their bucket, overloaded by their kind of work.',
);
export const PERMITS_BUSY = gauge(
  'mandate_admission_turns_busy',
  ['work'],
  'Requests that hold a permit, by kind of work; absent if Service:Overload:Enabled is false.',
);
export const PERMITS_WAITING = gauge(
  'mandate_admission_turns_waiting',
  ['work'],
  'Requests that wait for a permit, by kind of work; absent if Service:Overload:Enabled is false.',
);
export const DATABASE_UP = gauge(
  'mandate_database_up',
  [],
  '1 if the database answered the query for the ledger and outbox gauges within a second, else 0. Without an answer these gauges are absent.',
);
export const DATABASE_CONNECTIONS = gauge(
  'mandate_database_connections',
  ['pool', 'state'],
  'Connections to Postgres by pool: used, free, or most (the maximum). Absent on SQLite.',
);
export const DATABASE_WAITING = gauge(
  'mandate_database_waiting',
  ['pool'],
  'Callers that wait for a connection of a pool; on SQLite, pool "thread", calls without an answer yet.',
);
export const UNSEALED = gauge(
  'mandate_ledger_unsealed_records',
  [],
  'Records that no checkpoint covers yet. Counted up to 100000.',
);
export const UNSEALED_AGE = gauge(
  'mandate_ledger_oldest_unsealed_age_seconds',
  [],
  'Age of the oldest record that no checkpoint covers; 0 if all are sealed.',
);
export const CHECKPOINT_AGE = gauge(
  'mandate_ledger_last_checkpoint_age_seconds',
  [],
  'Time since the newest checkpoint was closed; absent before the first. Without new records no checkpoint is made.',
);
export const OUTBOX = gauge(
  'mandate_outbox_records',
  ['state'],
  'Records that wait for the sink: waiting counts all of them, failing those that the sink has refused at least once. Counted up to 100000.',
);
export const OUTBOX_AGE = gauge(
  'mandate_outbox_oldest_age_seconds',
  [],
  'Age of the oldest record that waits for the sink; 0 if none waits.',
);
export const CIRCUIT = gauge(
  'mandate_sponsor_check_circuit_open',
  [],
  '1 after five consecutive failures of the identity provider, until it answers a query about a person again, else 0. Absent in mode signals.',
);
export const KEYS_AGE = gauge(
  'mandate_key_set_age_seconds',
  ['owner'],
  'Time since the key set of the identity_provider, or of the transmitter, was last fetched; absent before the first fetch.',
);
export const SIGNING_KEY = gauge(
  'mandate_signing_key_info',
  ['kid', 'state'],
  'Always 1: the published signing keys; the key with state active signs.',
);
export const BUILD = gauge('mandate_build_info', ['version'], 'Always 1: the release that runs.');

/** The metrics of one serving process. */
export const SERVICE_DEFINITIONS: readonly Definition[] = [
  ...[REQUESTS, DURATIONS, DENIALS, ADMISSION_REFUSALS, PERMITS_BUSY, PERMITS_WAITING],
  ...[DATABASE_UP, DATABASE_CONNECTIONS, DATABASE_WAITING, UNSEALED, UNSEALED_AGE, CHECKPOINT_AGE, OUTBOX, OUTBOX_AGE],
  ...[CIRCUIT, KEYS_AGE, SIGNING_KEY, BUILD],
];
