/**
 * What any process has: memory, processor, file descriptors, delays of the event loop (prom-client's own measures,
 * `process_…` and `nodejs_…`). One set for the process, however many services run in it: what watches the event loop and
 * the collector of garbage can't be switched off again.
 */

import { collectDefaultMetrics, Registry } from 'prom-client';

/** Milliseconds between two looks at the event loop: fine enough for the stalls that hurt, and some fifty a second. */
const RESOLUTION_MS = 20;

let made: Registry | undefined;

export function processMetrics(): Registry {
  if (made !== undefined) return made;
  made = new Registry();
  collectDefaultMetrics({ register: made, eventLoopMonitoringPrecision: RESOLUTION_MS });
  return made;
}
