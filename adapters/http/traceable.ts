import type { RequestedAct } from '../../domain/operators/operator-act.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** A surface, and how to get the one for a single request. */
export type Traceable<Surface> = Surface & {
  /** With tracing: the request's calls to the database are spans of its trace. */
  readonly within?: ((trace: Trace) => Surface) | undefined;
  /** With operators: the request's decisions record its act. */
  readonly acting?: ((act: RequestedAct, trace?: Trace) => Surface) | undefined;
};

export function forRequest<Surface>(
  surface: Traceable<Surface>,
  { trace, act }: { readonly trace?: Trace | undefined; readonly act?: RequestedAct | undefined },
): Surface {
  if (act !== undefined && surface.acting !== undefined) return surface.acting(act, trace);
  return trace === undefined || surface.within === undefined ? surface : surface.within(trace);
}
