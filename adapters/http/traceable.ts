import type { Trace } from '../../domain/trace-context.ts';

/** A surface. With tracing, `within` gives it to one request: its calls to the database are then spans of its trace. */
export type Traceable<Surface> = Surface & { readonly within?: ((trace: Trace) => Surface) | undefined };

export function forRequest<Surface>(
  surface: Traceable<Surface>,
  { trace }: { readonly trace?: Trace | undefined },
): Surface {
  return trace === undefined || surface.within === undefined ? surface : surface.within(trace);
}
