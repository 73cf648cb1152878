/**
 * Every measure of the service by its name, with what it means; docs/operating.md has the same. Names and units follow
 * Prometheus's conventions: base units, `_total` on what only grows.
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
  'Requests that were answered, or whose sender left, by the part of the service and how it ended.',
);
export const DURATIONS = {
  kind: 'histogram' as const,
  name: 'mandate_request_duration_seconds' as const,
  labelNames: ['surface'] as readonly string[],
  help: 'From when the head of a request was read until its answer was out, waiting for a turn included.',
};
export const DENIALS = counter(
  'mandate_denials_total',
  ['event', 'reason'],
  'Denials, by the event and the reason of their record. One that names nobody counts when it happens, even where the ledger only sums it up.',
);
export const ADMISSION_REFUSALS = counter(
  'mandate_admission_refusals_total',
  ['reason', 'kind'],
  'Requests that were not let in: rate_limited by their bucket, overloaded by their kind of work.',
);
export const TURNS_BUSY = gauge(
  'mandate_admission_turns_busy',
  ['work'],
  'Requests that are worked on, by kind of work; absent where Service:Overload:Enabled is false.',
);
export const TURNS_WAITING = gauge(
  'mandate_admission_turns_waiting',
  ['work'],
  'Requests that wait for their turn, by kind of work; absent where Service:Overload:Enabled is false.',
);
export const DATABASE_UP = gauge(
  'mandate_database_up',
  [],
  '1 if the database said within a second what has piled up in it, 0 if not. The ledger and outbox gauges are absent then.',
);
export const DATABASE_CONNECTIONS = gauge(
  'mandate_database_connections',
  ['pool', 'state'],
  'Connections to Postgres by pool: used, free, or most, which is how many there may be. Absent on SQLite.',
);
export const DATABASE_WAITING = gauge(
  'mandate_database_waiting',
  ['pool'],
  'Who waits for a connection of a pool; on SQLite, pool "thread", calls that the database has still to answer.',
);
export const UNSEALED = gauge(
  'mandate_ledger_unsealed_records',
  [],
  'Records that no checkpoint covers yet. Counted up to 100000.',
);
export const UNSEALED_AGE = gauge(
  'mandate_ledger_oldest_unsealed_age_seconds',
  [],
  'Age of the oldest record that no checkpoint covers; 0 where all are sealed.',
);
export const CHECKPOINT_AGE = gauge(
  'mandate_ledger_last_checkpoint_age_seconds',
  [],
  'Since the newest checkpoint was closed; absent before the first. Nothing is sealed while nothing is recorded.',
);
export const OUTBOX = gauge(
  'mandate_outbox_records',
  ['state'],
  'Records that wait for the sink: waiting counts all of them, failing those that it has refused at least once. Counted up to 100000.',
);
export const OUTBOX_AGE = gauge(
  'mandate_outbox_oldest_age_seconds',
  [],
  'Age of the oldest record that waits for the sink; 0 where none does.',
);
export const CIRCUIT = gauge(
  'mandate_sponsor_check_circuit_open',
  [],
  '1 from when the identity provider failed five times in a row until it answers a question about a person again, else 0. Absent in mode signals.',
);
export const KEYS_AGE = gauge(
  'mandate_key_set_age_seconds',
  ['owner'],
  'Since the key set of the identity_provider, or of the transmitter, was last fetched; absent before the first time.',
);
export const SIGNING_KEY = gauge(
  'mandate_signing_key_info',
  ['kid', 'state'],
  'Always 1: the published signing keys, of which the one with state active signs.',
);
export const BUILD = gauge('mandate_build_info', ['version'], 'Always 1: the release that runs.');

/** What one serving process has. */
export const SERVICE_DEFINITIONS: readonly Definition[] = [
  ...[REQUESTS, DURATIONS, DENIALS, ADMISSION_REFUSALS, TURNS_BUSY, TURNS_WAITING],
  ...[DATABASE_UP, DATABASE_CONNECTIONS, DATABASE_WAITING, UNSEALED, UNSEALED_AGE, CHECKPOINT_AGE, OUTBOX, OUTBOX_AGE],
  ...[CIRCUIT, KEYS_AGE, SIGNING_KEY, BUILD],
];
