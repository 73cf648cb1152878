/**
 * The gauges of a service, each with its HELP text, and how a scrape reads its value. docs/operating.md has the same
 * table. Names and units follow Prometheus's conventions: base units, and `_total` for counters.
 */

import { Gauge, type Registry } from 'prom-client';
import type { StatusListUsage } from '../../application/ports/status-lists.ts';
import type { Backlog, DatabaseLine } from '../../application/ports/storage.ts';
import type { Surface } from '../../application/ports/telemetry.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Definition {
  readonly name: `mandate_${string}`;
  readonly labelNames?: readonly string[];
  readonly help: string;
  /** The surface without which the metric does not exist. */
  readonly only?: 'status_lists' | 'approval';
}

/** The sources of the gauges in the service. Everything but `backlog`, `waitingApprovals` and `statusLists` comes from memory. */
export interface Observed {
  readonly version: string;
  now(): Instant;
  /** Seconds, by the last reading; `undefined` without one. */
  aheadOfDatabase(): number | undefined;
  /** Empty if admission control is off. */
  permits(): readonly { readonly work: string; readonly busy: number; readonly waiting: number }[];
  lines(): readonly DatabaseLine[];
  backlog(): Promise<Backlog>;
  /** Whether no decision succeeded since one failed in the last ten seconds. It queries no database. */
  decisionsFail(): Promise<boolean>;
  /** The gauges do not call it if approvals are off. */
  waitingApprovals(): Promise<number>;
  /** The gauges do not call it if status lists are off. */
  statusLists(): Promise<readonly StatusListUsage[]>;
  /** `undefined` in the mode `signals`. */
  isCircuitOpen(): boolean | undefined;
  keySets(): readonly {
    readonly owner: 'identity_provider' | 'transmitter';
    readonly fetchedAt: Instant | undefined;
  }[];
  signingKeys(): { readonly kids: readonly string[]; readonly active: string };
}

/** The scrape's other inputs. `undefined` if the database did not answer, or if there is nothing to know yet. */
export interface Known {
  readonly backlog: Backlog | undefined;
  readonly decisionsFail: boolean | undefined;
  readonly waitingApprovals: number | undefined;
  readonly lists: readonly StatusListUsage[] | undefined;
  /** When this process read the tables for the newest list that it made. */
  readonly newestListAt: Instant | undefined;
}

interface ServiceGauges {
  set(observed: Observed, known: Known): void;
}

interface Look extends Known {
  readonly observed: Observed;
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
    help: '1 if the database answered the query for the ledger and outbox gauges within a second, else 0. Without an answer these gauges are absent.',
    read: ({ backlog }) => one(backlog === undefined ? 0 : 1),
  },
  {
    name: 'mandate_database_decisions_failing',
    help: '1 if decisions of this process failed in the last ten seconds for a fault of the database, and none succeeded since, else 0. Absent if the database thread of SQLite does not answer.',
    read: ({ decisionsFail }) => one(decisionsFail === undefined ? undefined : Number(decisionsFail)),
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
    name: 'mandate_database_clock_difference_seconds',
    help: "Seconds by which this machine's clock is ahead of the database's, negative if behind, read every second. Absent on SQLite.",
    read: ({ observed }) => one(observed.aheadOfDatabase()),
  },
  {
    name: 'mandate_ledger_unsealed_records',
    help: 'Records that no checkpoint covers yet. Counted up to 100000.',
    read: ({ backlog }) => one(backlog?.sealing.unsealed),
  },
  {
    name: 'mandate_ledger_oldest_unsealed_age_seconds',
    help: 'Age of the oldest record that no checkpoint covers; 0 if all are sealed.',
    read: ({ backlog, age }) => one(backlog && ageOr0(backlog.sealing.oldestUnsealedAt, age)),
  },
  {
    name: 'mandate_ledger_last_checkpoint_age_seconds',
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
    help: 'Age of the oldest record that waits for the sink; 0 if none waits.',
    read: ({ backlog, age }) => one(backlog && ageOr0(backlog.outbox.oldestAt, age)),
  },
  {
    name: 'mandate_approvals_waiting',
    help: 'Approvals that wait for a person to answer. Counted up to 100000.',
    only: 'approval',
    read: ({ waitingApprovals }) => one(waitingApprovals),
  },
  {
    name: 'mandate_status_lists',
    help: 'Stored status lists, read at most every five minutes.',
    only: 'status_lists',
    read: ({ lists }) => one(lists?.length),
  },
  {
    name: 'mandate_status_list_indices',
    labelNames: ['state'],
    help: 'Indices of the stored status lists: held by a task, or free. Read at most every five minutes.',
    only: 'status_lists',
    read({ lists }) {
      if (lists === undefined) return [];
      const held = lists.reduce((sum, list) => sum + list.held, 0);
      const all = lists.reduce((sum, list) => sum + list.entries, 0);
      return [
        { labels: { state: 'held' }, value: held },
        { labels: { state: 'free' }, value: all - held },
      ];
    },
  },
  {
    name: 'mandate_status_list_newest_age_seconds',
    help: 'Age of the newest status list that this process read; absent before the first. Without polls no list is read.',
    only: 'status_lists',
    read: ({ newestListAt, age }) => one(newestListAt && age(newestListAt)),
  },
  {
    name: 'mandate_sponsor_check_circuit_open',
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

/** @param measured the surfaces that this instance has */
export function serviceGauges(registry: Registry, measured: readonly Surface[]): ServiceGauges {
  const registered = gauges.filter(exists(measured)).map(({ name, help, labelNames = [], read }) => {
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
    set(observed, known) {
      const now = observed.now();
      // The record's time may come from another instance, whose clock is slightly ahead.
      const age = (since: Instant) => Math.max(0, secondsBetween(since, now));
      for (const { gauge, clear, read } of registered) {
        clear();
        for (const { labels = {}, value } of read({ ...known, observed, age })) gauge.set(labels, value);
      }
    },
  };
}

/** Whether a metric exists in an instance with these surfaces. */
function exists(measured: readonly Surface[]): (definition: Definition) => boolean {
  return ({ only }) => only === undefined || measured.includes(only);
}

function one(value: number | undefined): readonly Reading[] {
  return value === undefined ? [] : [{ value }];
}

function ageOr0(since: Instant | undefined, age: Look['age']): number {
  return since === undefined ? 0 : age(since);
}
