/** The gauges of a service, and how each is read at a scrape. */

import { Gauge, type Registry } from 'prom-client';
import type { Backlog, DatabaseLine } from '../../application/ports/storage.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import * as definitions from './definitions.ts';

/** The values that a scrape reads from the service. All but `backlog` come from memory. */
export interface Observed {
  readonly version: string;
  now(): Instant;
  /** Empty without admission control. */
  permits(): readonly { readonly work: string; readonly busy: number; readonly waiting: number }[];
  lines(): readonly DatabaseLine[];
  backlog(): Promise<Backlog>;
  /** `undefined` in mode `signals`. */
  isCircuitOpen(): boolean | undefined;
  keySets(): readonly {
    readonly owner: 'identity_provider' | 'transmitter';
    readonly fetchedAt: Instant | undefined;
  }[];
  signingKeys(): { readonly kids: readonly string[]; readonly active: string };
}

/** The answer of the database; `unknown` if it did not answer. */
type DatabaseAnswer = Backlog | 'unknown';

interface ServiceGauges {
  set(observed: Observed, database: DatabaseAnswer): void;
}

interface Look {
  readonly observed: Observed;
  readonly database: DatabaseAnswer;
  readonly backlog: Backlog | undefined;
  /** Seconds. */
  age(since: Instant): number;
}

interface Reading {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

type Read = (look: Look) => readonly Reading[];

const READ: readonly (readonly [definitions.Definition, Read])[] = [
  [
    definitions.PERMITS_BUSY,
    ({ observed }) => observed.permits().map(({ work, busy }) => ({ labels: { work }, value: busy })),
  ],
  [
    definitions.PERMITS_WAITING,
    ({ observed }) => observed.permits().map(({ work, waiting }) => ({ labels: { work }, value: waiting })),
  ],
  [definitions.DATABASE_UP, ({ database }) => one(database === 'unknown' ? 0 : 1)],
  [
    definitions.DATABASE_CONNECTIONS,
    ({ observed }) =>
      observed
        .lines()
        .flatMap(({ name, connections }) =>
          Object.entries(connections ?? {}).map(([state, value]) => ({ labels: { pool: name, state }, value })),
        ),
  ],
  [
    definitions.DATABASE_WAITING,
    ({ observed }) => observed.lines().map(({ name, waiting }) => ({ labels: { pool: name }, value: waiting })),
  ],
  [definitions.UNSEALED, ({ backlog }) => one(backlog?.sealing.unsealed)],
  [definitions.UNSEALED_AGE, ({ backlog, age }) => one(backlog && ageOr0(backlog.sealing.oldestUnsealedAt, age))],
  [
    definitions.CHECKPOINT_AGE,
    ({ backlog, age }) => {
      const newest = backlog?.sealing.newestCheckpoint;
      return one(newest && age(newest.closedAt));
    },
  ],
  [
    definitions.OUTBOX,
    ({ backlog }) =>
      (['waiting', 'failing'] as const).flatMap((state) =>
        backlog === undefined ? [] : [{ labels: { state }, value: backlog.outbox[state] }],
      ),
  ],
  [definitions.OUTBOX_AGE, ({ backlog, age }) => one(backlog && ageOr0(backlog.outbox.oldestAt, age))],
  [
    definitions.CIRCUIT,
    ({ observed }) => {
      const isOpen = observed.isCircuitOpen();
      return one(isOpen === undefined ? undefined : Number(isOpen));
    },
  ],
  [
    definitions.KEYS_AGE,
    ({ observed, age }) =>
      observed
        .keySets()
        .flatMap(({ owner, fetchedAt }) => (fetchedAt ? [{ labels: { owner }, value: age(fetchedAt) }] : [])),
  ],
  [
    definitions.SIGNING_KEY,
    ({ observed }) => {
      const { kids, active } = observed.signingKeys();
      return kids.map((kid) => ({ labels: { kid, state: kid === active ? 'active' : 'published' }, value: 1 }));
    },
  ],
  [definitions.BUILD, ({ observed: { version } }) => [{ labels: { version }, value: 1 }]],
];

export function serviceGauges(registry: Registry): ServiceGauges {
  const gauges = READ.map(([{ name, help, labelNames }, read]) => {
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
    const clear = () => {
      gauge.reset();
      // Without a label prom-client starts with a zero, which would look like a real value.
      if (labelNames.length === 0) gauge.remove();
    };
    clear();
    return { gauge, clear, read };
  });
  return {
    set(observed, database) {
      const now = observed.now();
      const backlog = typeof database === 'string' ? undefined : database;
      // Another instance with a clock slightly ahead may have dated the record.
      const age = (since: Instant) => Math.max(0, secondsBetween(since, now));
      for (const { gauge, clear, read } of gauges) {
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
