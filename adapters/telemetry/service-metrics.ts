/** The metrics of one running service, in their own registry (docs/operating.md, "Metrics"). */

import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { TimeLimit } from '../../application/ports/runtime.ts';
import type { Backlog } from '../../application/ports/storage.ts';
import { type Measurements, outcomes, type Surface, surfaces } from '../../application/ports/telemetry.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { type Definition, gauges, type Observed, serviceGauges } from './service-gauges.ts';

export interface ServiceMetrics {
  readonly measurements: Measurements;
  /** Sets where the gauges read their values. */
  observe(observed: Observed): void;
  /** All metrics in Prometheus's text format. Never fails, and takes little more than a second. */
  text(): Promise<string>;
}

const REQUESTS: Definition = {
  name: 'mandate_requests_total',
  labelNames: ['surface', 'outcome'],
  help: 'Requests that were answered, or whose client disconnected, by surface and outcome.',
};
const DURATIONS: Definition = {
  name: 'mandate_request_duration_seconds',
  labelNames: ['surface'],
  help: 'From the head of a request to the end of its response, including the wait for a permit.',
};
const DENIALS: Definition = {
  name: 'mandate_denials_total',
  labelNames: ['event', 'reason'],
  help: 'Denials, by the event and the reason of their record. An anonymous denial counts at once, even if the ledger only aggregates it.',
};
const ADMISSION_REFUSALS: Definition = {
  name: 'mandate_admission_refusals_total',
  labelNames: ['reason', 'kind'],
  help: 'Requests refused at admission: rate_limited by their bucket, overloaded by their kind of work.',
};

/** The metrics of one serving process, as docs/operating.md lists them. */
export const serviceDefinitions: readonly Definition[] = [REQUESTS, DURATIONS, DENIALS, ADMISSION_REFUSALS, ...gauges];

/** From the time of a signature (1 ms) to the time limit for the identity provider (10 s). */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The backlog is read at most this often, no matter how many scrapers there are. */
const BACKLOG_EVERY_SECONDS = 5;
/** A scraper usually waits ten seconds. These gauges need far less. */
const BACKLOG_LIMIT_MS = 1000;

/** @param measured the surfaces that this instance has */
export function serviceMetrics(timeLimit: TimeLimit, measured: readonly Surface[] = surfaces): ServiceMetrics {
  const registry = new Registry();
  const measurements = countersOf(registry, measured);
  const settable = serviceGauges(registry);
  let observed: Observed | undefined;
  let askBacklog: () => Promise<Backlog | undefined> = async () => undefined;

  return {
    measurements,
    observe(given) {
      observed = given;
      askBacklog = occasionally(() => given.backlog(), {
        ...{ everySeconds: BACKLOG_EVERY_SECONDS, limitMs: BACKLOG_LIMIT_MS, timeLimit, now: given.now },
      });
    },
    async text() {
      const backlog = (await askBacklog()) ?? 'unknown';
      if (observed !== undefined) settable.set(observed, backlog);
      return Registry.merge([registry, processMetrics()]).metrics();
    },
  };
}

function counterOf(registry: Registry, { name, help, labelNames }: Definition): Counter {
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
}

/** Creates the counter of each pair of labels in advance, so that counting is only a property access. */
function countersOf(registry: Registry, measured: readonly Surface[]): Measurements {
  const requests = counterOf(registry, REQUESTS);
  const denials = counterOf(registry, DENIALS);
  const refusals = counterOf(registry, ADMISSION_REFUSALS);
  // Starts at zero, as below, for the only pair of labels with an alert (docs/operating.md).
  denials.inc({ event: 'admin.denied', reason: 'invalid_api_key' }, 0);
  const { name, help, labelNames } = DURATIONS;
  const durations = new Histogram({ name, help, labelNames: [...labelNames], buckets: BUCKETS, registers: [registry] });
  const known = new Map(
    measured.map((surface) => {
      // Starts each series at zero: `rate` misses the first event of a series that begins at one.
      for (const outcome of outcomes) requests.inc({ surface, outcome }, 0);
      durations.zero({ surface });
      const counters = new Map(outcomes.map((outcome) => [outcome, requests.labels({ surface, outcome })]));
      return [surface, { counters, duration: durations.labels({ surface }) }];
    }),
  );
  return {
    answered(surface, outcome, seconds) {
      const of = known.get(surface);
      of?.counters.get(outcome)?.inc();
      of?.duration.observe(seconds);
    },
    denied: (event, reason) => denials.inc({ event, reason }),
    notAdmitted: ({ reason, kind }) => refusals.inc({ reason, kind }),
  };
}

export interface Occasion {
  /** The minimum time between two queries. A caller in between gets the last answer. */
  readonly everySeconds: number;
  /** How long a caller waits. */
  readonly limitMs: number;
  readonly timeLimit: TimeLimit;
  now(): Instant;
}

/** Runs a query at a limited rate, one at a time. Resolves with `undefined` if it failed, or exceeds the limit. */
export function occasionally<Answer>(
  ask: () => Promise<Answer>,
  { everySeconds, limitMs, timeLimit, now }: Occasion,
): () => Promise<Answer | undefined> {
  let askedAt: Instant | undefined;
  let isAsking = false;
  let last: Promise<Answer | undefined> = Promise.resolve(undefined);

  /** A time in the future means that the clock was set back. The last answer then counts as old. */
  const isDue = (): boolean => {
    const age = askedAt === undefined ? everySeconds : secondsBetween(askedAt, now());
    return age < 0 || age >= everySeconds;
  };

  return () => {
    if (!isAsking && isDue()) {
      askedAt = now();
      isAsking = true;
      last = ask()
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    }
    return timeLimit(last, limitMs);
  };
}

/** The time between two samples of the event loop, in milliseconds: short enough to detect relevant delays. */
const RESOLUTION_MS = 20;

let made: Registry | undefined;

/**
 * The metrics of any Node process: memory, CPU, file descriptors, event loop lag (prom-client's `process_…` and
 * `nodejs_…`). Services in one process share them, because their observers cannot be removed.
 */
export function processMetrics(): Registry {
  if (made !== undefined) return made;
  made = new Registry();
  collectDefaultMetrics({ register: made, eventLoopMonitoringPrecision: RESOLUTION_MS });
  return made;
}
