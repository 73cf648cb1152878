import type { Decision } from '../../application/decisions/decision.ts';
import type { Part, World } from './world.ts';

/** A decision with an input that lets it write. */
export interface Row {
  readonly decision: Decision<never, unknown>;
  /** Stored before the decision. */
  readonly parts: readonly Part[];
  input(world: World): never;
}

export function row<Input, Verdict>(
  decision: Decision<Input, Verdict>,
  parts: readonly Part[],
  input: (world: World) => Input,
): Row {
  return { decision, parts, input } as Row;
}
