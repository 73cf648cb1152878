/**
 * The metrics of any Node process: memory, CPU, file descriptors, event-loop lag (prom-client's `process_…` and
 * `nodejs_…`). There is one set per process, even with several services in it, because the observers of the event loop
 * and of garbage collection cannot be switched off again.
 */

import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * The interval between two samples of the event loop, in milliseconds: it detects relevant stalls, with some fifty
 * samples a second.
 */
const RESOLUTION_MS = 20;

let made: Registry | undefined;

export function processMetrics(): Registry {
  if (made !== undefined) return made;
  made = new Registry();
  collectDefaultMetrics({ register: made, eventLoopMonitoringPrecision: RESOLUTION_MS });
  return made;
}
