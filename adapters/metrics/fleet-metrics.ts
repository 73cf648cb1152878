/**
 * The measures of several workers as those of one service. What only grows is their sum, for good: what a worker that
 * ended had counted stays in it, since a sum that falls would look like a restart, and everything since the start would
 * be counted again. Of gauges some are summed, some are the same for all, and the others stand one by one under a label
 * `worker`, whose values are the places of workers and not their numbers: those would grow with every one replaced.
 */

import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client';
import { WORKER_ENDS, WORKERS } from './definitions.ts';
import { processMetrics } from './process-metrics.ts';
import type { Samples } from './service-metrics.ts';

export interface FleetMetrics {
  /** A worker began, at the first place that is free. */
  began(worker: number): void;
  ended(worker: number): void;
  /**
   * Everything in Prometheus's text format.
   *
   * @param heard what those who answered have, by the number of the worker
   */
  text(heard: ReadonlyMap<number, Samples>, wanted: number): Promise<string>;
}

export function fleetMetrics(): FleetMetrics {
  const registry = new Registry();
  const { name, help, labelNames } = WORKERS;
  const workers = new Gauge({ name, help, labelNames: [...labelNames], aggregator: 'first', registers: [registry] });
  const ends = new Counter({ name: WORKER_ENDS.name, help: WORKER_ENDS.help, registers: [registry] });
  /** Their places by their numbers. */
  const places = new Map<number, number>();
  /** What was last heard of each that goes on, and the sum of those that do not. */
  const known = new Map<number, Samples>();
  let departed: Samples = [];

  return {
    began(worker) {
      const taken = new Set(places.values());
      let place = 1;
      while (taken.has(place)) place += 1;
      places.set(worker, place);
    },
    ended(worker) {
      ends.inc();
      places.delete(worker);
    },
    async text(heard, wanted) {
      for (const [worker, samples] of heard) known.set(worker, samples);
      for (const [worker, samples] of known) {
        if (places.has(worker)) continue;
        departed = await aggregated([departed, samples.filter(onlyGrows)]).getMetricsAsJSON();
        known.delete(worker);
      }
      workers.set({ state: 'wanted' }, wanted);
      workers.set({ state: 'answered' }, heard.size);
      const own = await Registry.merge([registry, processMetrics()]).getMetricsAsJSON();
      const parts = [...known].map(([worker, samples]) => {
        const isHeard = heard.has(worker);
        return apart(isHeard ? samples : samples.filter(onlyGrows), String(places.get(worker) ?? ''));
      });
      return aggregated([...parts, departed, apart(own, 'primary')]).metrics();
    },
  };
}

function onlyGrows({ type }: Samples[number]): boolean {
  // The declaration says that it is a number; what is there are words.
  return ['counter', 'histogram'].includes(String(type));
}

/** Gauges that mean nothing when they are put together: averages, extremes, and what must not be left out. */
const ONE_BY_ONE = ['omit', 'average', 'min', 'max'];

function apart(samples: Samples, worker: string): Samples {
  return samples.map((metric) => {
    if (onlyGrows(metric) || !ONE_BY_ONE.includes(metric.aggregator)) return metric;
    const values = metric.values.map((sample) => ({ ...sample, labels: { ...sample.labels, worker } }));
    return { ...metric, aggregator: 'first' as const, values };
  });
}

function aggregated(parts: readonly Samples[]): Registry {
  return AggregatorRegistry.aggregate(parts.map((samples) => [...samples]));
}
