/**
 * The gauges of a service, each with its HELP text, and how a scrape reads its value. docs/operating.md has the same
 * table. Names and units follow Prometheus's conventions: base units, and `_total` for counters.
 */

import { Gauge, type Registry } from 'prom-client';
import type { Backlog, DatabaseLine } from '../../application/ports/storage.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Definition {
  readonly name: `mandate_${string}`;
  readonly labelNames: readonly string[];
  readonly help: string;
}

/** What a scrape reads from the service. Everything but `backlog` comes from memory. */
export interface Observed {
  readonly version: string;
  now(): Instant;
  /** Empty if admission control is off. */
  permits(): readonly { readonly work: string; readonly busy: number; readonly waiting: number }[];
  lines(): readonly DatabaseLine[];
  backlog(): Promise<Backlog>;
  /** `undefined` in the mode `signals`. */
  isCircuitOpen(): boolean | undefined;
  keySets(): readonly {
    readonly owner: 'identity_provider' | 'transmitter';
    readonly fetchedAt: Instant | undefined;
  }[];
  signingKeys(): { readonly kids: readonly string[]; readonly active: string };
}

/** The backlog in the database. `unknown` if the database did not answer. */
type DatabaseAnswer = Backlog | 'unknown';

interface ServiceGauges {
  set(observed: Observed, database: DatabaseAnswer): void;
}

interface Look {
  readonly observed: Observed;
  readonly database: DatabaseAnswer;
  readonly backlog: Backlog | undefined;
  /** The seconds since that time. */
  age(since: Instant): number;
}

interface Reading {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface GaugeDefinition extends Definition {
  read(look: Look): readonly Reading[];
}

export const gauges: readonly GaugeDefinition[] = [
  {
    name: 'mandate_admission_turns_busy',
    labelNames: ['work'],
    help: 'Requests that hold a permit, by kind of work; absent if Service:Overload:Enabled is false.',
    read: ({ observed }) => observed.permits().map(({ work, busy }) => ({ labels: { work }, value: busy })),
  },
  {
    name: 'mandate_admission_turns_waiting',
    labelNames: ['work'],
    help: 'Requests that wait for a permit, by kind of work; absent if Service:Overload:Enabled is false.',
    read: ({ observed }) => observed.permits().map(({ work, waiting }) => ({ labels: { work }, value: waiting })),
  },
  {
    name: 'mandate_database_up',
    labelNames: [],
    help: '1 if the database answered the query for the ledger and outbox gauges within a second, else 0. Without an answer these gauges are absent.',
    read: ({ database }) => one(database === 'unknown' ? 0 : 1),
  },
  {
    name: 'mandate_database_connections',
    labelNames: ['pool', 'state'],
    help: 'Connections to Postgres by pool: used, free, or most (the maximum). Absent on SQLite.',
    read: ({ observed }) =>
      observed
        .lines()
        .flatMap(({ name: pool, connections }) =>
          Object.entries(connections ?? {}).map(([state, value]) => ({ labels: { pool, state }, value })),
        ),
  },
  {
    name: 'mandate_database_waiting',
    labelNames: ['pool'],
    help: 'Callers that wait for a connection of a pool; on SQLite, pool "thread", calls without an answer yet.',
    read: ({ observed }) => observed.lines().map(({ name, waiting }) => ({ labels: { pool: name }, value: waiting })),
  },
  {
    name: 'mandate_ledger_unsealed_records',
    labelNames: [],
    help: 'Records that no checkpoint covers yet. Counted up to 100000.',
    read: ({ backlog }) => one(backlog?.sealing.unsealed),
  },
  {
    name: 'mandate_ledger_oldest_unsealed_age_seconds',
    labelNames: [],
    help: 'Age of the oldest record that no checkpoint covers; 0 if all are sealed.',
    read: ({ backlog, age }) => one(backlog && ageOr0(backlog.sealing.oldestUnsealedAt, age)),
  },
  {
    name: 'mandate_ledger_last_checkpoint_age_seconds',
    labelNames: [],
    help: 'Time since the newest checkpoint was closed; absent before the first. Without new records no checkpoint is made.',
    read({ backlog, age }) {
      const newest = backlog?.sealing.newestCheckpoint;
      return one(newest && age(newest.closedAt));
    },
  },
  {
    name: 'mandate_outbox_records',
    labelNames: ['state'],
    help: 'Records that wait for the sink: waiting counts all of them, failing those that the sink has refused at least once. Counted up to 100000.',
    read: ({ backlog }) =>
      (['waiting', 'failing'] as const).flatMap((state) =>
        backlog === undefined ? [] : [{ labels: { state }, value: backlog.outbox[state] }],
      ),
  },
  {
    name: 'mandate_outbox_oldest_age_seconds',
    labelNames: [],
    help: 'Age of the oldest record that waits for the sink; 0 if none waits.',
    read: ({ backlog, age }) => one(backlog && ageOr0(backlog.outbox.oldestAt, age)),
  },
  {
    name: 'mandate_sponsor_check_circuit_open',
    labelNames: [],
    help: '1 after five consecutive failures of the identity provider, until it answers a query about a person again, else 0. Absent in mode signals.',
    read({ observed }) {
      const isOpen = observed.isCircuitOpen();
      return one(isOpen === undefined ? undefined : Number(isOpen));
    },
  },
  {
    name: 'mandate_key_set_age_seconds',
    labelNames: ['owner'],
    help: 'Time since the key set of the identity_provider, or of the transmitter, was last fetched; absent before the first fetch.',
    read: ({ observed, age }) =>
      observed
        .keySets()
        .flatMap(({ owner, fetchedAt }) => (fetchedAt ? [{ labels: { owner }, value: age(fetchedAt) }] : [])),
  },
  {
    name: 'mandate_signing_key_info',
    labelNames: ['kid', 'state'],
    help: 'Always 1: the published signing keys; the key with state active signs.',
    read({ observed }) {
      const { kids, active } = observed.signingKeys();
      return kids.map((kid) => ({ labels: { kid, state: kid === active ? 'active' : 'published' }, value: 1 }));
    },
  },
  {
    name: 'mandate_build_info',
    labelNames: ['version'],
    help: 'Always 1: the release that runs.',
    read: ({ observed: { version } }) => [{ labels: { version }, value: 1 }],
  },
];

export function serviceGauges(registry: Registry): ServiceGauges {
  const registered = gauges.map(({ name, help, labelNames, read }) => {
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
    const clear = () => {
      gauge.reset();
      // Without labels, prom-client would start with a zero that looks like a real value.
      if (labelNames.length === 0) gauge.remove();
    };
    clear();
    return { gauge, clear, read };
  });
  return {
    set(observed, database) {
      const now = observed.now();
      const backlog = typeof database === 'string' ? undefined : database;
      // The record's time may come from another instance, whose clock is slightly ahead.
      const age = (since: Instant) => Math.max(0, secondsBetween(since, now));
      for (const { gauge, clear, read } of registered) {
        clear();
        for (const { labels = {}, value } of read({ observed, database, backlog, age })) gauge.set(labels, value);
      }
    },
  };
}

function one(value: number | undefined): readonly Reading[] {
  return value === undefined ? [] : [{ value }];
}

function ageOr0(since: Instant | undefined, age: Look['age']): number {
  return since === undefined ? 0 : age(since);
}
