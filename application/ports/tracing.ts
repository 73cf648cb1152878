import type { Trace } from '../../domain/traces/trace-context.ts';

/** Which request is being worked on, where that is part of a trace. Nothing is decided by it. */
export interface Tracing {
  /** Does the work as part of the trace, with whatever that begins and waits for. */
  within<Answer>(trace: Trace, work: () => Answer): Answer;
  /** That of the work which asks; `undefined` where it is part of none. */
  current(): Trace | undefined;
}
