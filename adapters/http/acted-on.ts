import type { RequestedAct } from '../../domain/operators/operator-act.ts';

/** A surface of operators, and how to get the one whose decisions record the act of a request. */
export type ActedOn<Surface> = Surface & {
  /** Absent without operators. */
  readonly acting?: ((act: RequestedAct) => Surface) | undefined;
};

export function actedOnBy<Surface>(surface: ActedOn<Surface>, act: RequestedAct | undefined): Surface {
  return act === undefined || surface.acting === undefined ? surface : surface.acting(act);
}
