import type { Trace } from '../../domain/traces/trace-context.ts';

/** Links work to the trace of its request. It never influences a decision. */
export interface Tracing {
  /** Runs the work, and everything it starts or awaits, within the trace. */
  within<Answer>(trace: Trace, work: () => Answer): Answer;
  /** The trace of the calling work; `undefined` outside of a trace. */
  current(): Trace | undefined;
}
