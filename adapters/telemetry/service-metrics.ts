/** The metrics of one running service, in their own registry (docs/operating.md, "Metrics"). */

import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { TimeLimit } from '../../application/ports/runtime.ts';
import type { StatusListUsage } from '../../application/ports/status-lists.ts';
import type { Backlog } from '../../application/ports/storage.ts';
import {
  approvalSteps,
  type Measurements,
  outcomes,
  type Surface,
  surfaces,
} from '../../application/ports/telemetry.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { signalSources } from '../../domain/signals/without-effect.ts';
import { type Definition, gauges, type Observed, serviceGauges } from './service-gauges.ts';

export interface ServiceMetrics {
  readonly measurements: Measurements;
  /** Sets where the gauges read their values. */
  observe(observed: Observed): void;
  /** All metrics in Prometheus's text format. It never fails, and takes little more than a second. */
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
const MISMATCHES: Definition = {
  name: 'mandate_token_mismatches_total',
  labelNames: ['surface'],
  help: 'Task tokens with a valid signature that differ from their stored task. The service made none of them, unless the task was changed in the database.',
};
const WITHOUT_EFFECT: Definition = {
  name: 'mandate_signals_without_effect_total',
  labelNames: ['source'],
  help: 'Signals that were accepted, would end tasks and ended none: logout, of a session although the tasks of the person belong to none; ssf, about no person who is known, or about a session.',
};
const APPROVALS: Definition = {
  name: 'mandate_approvals_total',
  labelNames: ['step'],
  help: 'Approvals that were requested, granted or refused by their person, or used, at this process. Those that expired or were withdrawn are not counted.',
  only: 'approval',
};
const LISTS_MADE: Definition = {
  name: 'mandate_status_list_builds_total',
  labelNames: ['outcome'],
  help: 'Reads of a status list from the database (ok), and failed ones.',
  only: 'status_lists',
};
const LIST_DURATIONS: Definition = {
  name: 'mandate_status_list_build_duration_seconds',
  help: 'The time to read a status list from the database.',
  only: 'status_lists',
};

/** The metrics of one serving process, as docs/operating.md lists them. */
export const serviceDefinitions: readonly Definition[] = [
  ...[REQUESTS, DURATIONS, DENIALS, ADMISSION_REFUSALS, MISMATCHES, WITHOUT_EFFECT, APPROVALS],
  ...[LISTS_MADE, LIST_DURATIONS],
  ...gauges,
];

/** Seconds, from the time of a signature (1 ms) to the time limit for the identity provider (10 s). */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The backlog is read at most this often, no matter how many scrapers there are. */
const BACKLOG_EVERY_SECONDS = 5;
/** Counting a million indices takes half a second on SQLite, and up to some seconds on a busy Postgres. */
const LISTS_EVERY_SECONDS = 300;
/** A scraper usually waits ten seconds. These gauges need far less. */
const DATABASE_LIMIT_MS = 1000;

/** @param measured the surfaces that this instance has */
export function serviceMetrics(timeLimit: TimeLimit, measured: readonly Surface[] = surfaces): ServiceMetrics {
  const registry = new Registry();
  const hasStatusLists = measured.includes('status_lists');
  const hasApprovals = measured.includes('approval');
  let newestListAt: Instant | undefined;
  const lists = hasStatusLists ? listCountersOf(registry) : undefined;
  const measurements: Measurements = {
    ...countersOf(registry, measured),
    approvalStep: hasApprovals ? approvalCounterOf(registry) : () => undefined,
    statusListRead(readAt, seconds) {
      newestListAt = readAt;
      lists?.made(seconds);
    },
    statusListFailed: () => lists?.failed(),
  };
  const settable = serviceGauges(registry, measured);
  let observed: Observed | undefined;
  let askBacklog: () => Promise<Backlog | undefined> = async () => undefined;
  let askDecisions: () => Promise<boolean | undefined> = async () => undefined;
  let askWaiting: () => Promise<number | undefined> = async () => undefined;
  let askLists: () => Promise<readonly StatusListUsage[] | undefined> = async () => undefined;

  return {
    measurements,
    observe(given) {
      observed = given;
      const limits = { limitMs: DATABASE_LIMIT_MS, timeLimit, now: given.now };
      askBacklog = occasionally(() => given.backlog(), { ...limits, everySeconds: BACKLOG_EVERY_SECONDS });
      askDecisions = occasionally(() => given.decisionsFail(), { ...limits, everySeconds: 0 });
      if (hasApprovals) {
        askWaiting = occasionally(() => given.waitingApprovals(), { ...limits, everySeconds: BACKLOG_EVERY_SECONDS });
      }
      if (hasStatusLists)
        askLists = occasionally(() => given.statusLists(), { ...limits, everySeconds: LISTS_EVERY_SECONDS });
    },
    async text() {
      const [backlog, decisionsFail, waitingApprovals, lists] = await Promise.all([
        askBacklog(),
        askDecisions(),
        askWaiting(),
        askLists(),
      ]);
      if (observed !== undefined) {
        settable.set(observed, { backlog, decisionsFail, waitingApprovals, lists, newestListAt });
      }
      return Registry.merge([registry, processMetrics()]).metrics();
    },
  };
}

function counterOf(registry: Registry, { name, help, labelNames = [] }: Definition): Counter {
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
}

function histogramOf(registry: Registry, { name, help, labelNames = [] }: Definition): Histogram {
  return new Histogram({ name, help, labelNames: [...labelNames], buckets: BUCKETS, registers: [registry] });
}

function approvalCounterOf(registry: Registry): Measurements['approvalStep'] {
  const steps = counterOf(registry, APPROVALS);
  for (const step of approvalSteps) steps.inc({ step }, 0);
  return (step) => steps.inc({ step });
}

function listCountersOf(registry: Registry): { made(seconds: number): void; failed(): void } {
  const builds = counterOf(registry, LISTS_MADE);
  const durations = histogramOf(registry, LIST_DURATIONS);
  for (const outcome of ['ok', 'failed']) builds.inc({ outcome }, 0);
  return {
    made(seconds) {
      builds.inc({ outcome: 'ok' });
      durations.observe(seconds);
    },
    failed: () => builds.inc({ outcome: 'failed' }),
  };
}

/** Creates the counter of each pair of labels in advance, so that counting is only a property access. */
function countersOf(
  registry: Registry,
  measured: readonly Surface[],
): Omit<Measurements, 'approvalStep' | 'statusListRead' | 'statusListFailed'> {
  const requests = counterOf(registry, REQUESTS);
  const denials = counterOf(registry, DENIALS);
  const refusals = counterOf(registry, ADMISSION_REFUSALS);
  // Starts at zero, as below, for the only pair of labels with an alert (docs/operating.md).
  denials.inc({ event: 'admin.denied', reason: 'invalid_api_key' }, 0);
  const mismatches = counterOf(registry, MISMATCHES);
  for (const surface of ['introspection', 'revocation', 'approval']) mismatches.inc({ surface }, 0);
  const withoutEffect = counterOf(registry, WITHOUT_EFFECT);
  for (const source of signalSources) withoutEffect.inc({ source }, 0);
  const durations = histogramOf(registry, DURATIONS);
  const known = new Map(
    measured.map((surface) => {
      // Starts each series at zero: `rate` misses the first event of a series that begins at one.
      for (const outcome of outcomes) requests.inc({ surface, outcome }, 0);
      durations.zero({ surface });
      const counters = new Map(outcomes.map((outcome) => [outcome, requests.labels({ surface, outcome })]));
      return [surface, { counters, duration: durations.labels({ surface }) }] as const;
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
    tokenMismatch: (surface) => mismatches.inc({ surface }),
    signalWithoutEffect: (source) => withoutEffect.inc({ source }),
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
