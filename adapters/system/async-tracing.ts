/**
 * Tracing by asynchronous context. Node follows every promise from the first trace on, which takes some 0.1 µs for each
 * on Node 20; as long as nobody sends a trace, nothing.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tracing } from '../../application/ports/tracing.ts';
import type { Trace } from '../../domain/traces/trace-context.ts';

export function asyncTracing(): Tracing {
  const traces = new AsyncLocalStorage<Trace>();
  return { within: (trace, work) => traces.run(trace, work), current: () => traces.getStore() };
}
