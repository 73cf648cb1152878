/** Something that is measured: a running server, and requests to it that are prepared before each round. */

import type { Target } from './load.ts';

export interface Contender {
  /** As the report calls it. */
  readonly name: string;
  readonly target: Target;
  readonly pid: number;
  /** What every answer's body must contain. */
  readonly expected: string;
  /** Fresh requests, each to be sent once, within minutes: the assertions in them live five. */
  prepare(count: number): readonly Buffer[];
}

/** Seconds. As long as the service accepts (specification "Client assertion rules", 2). */
export const ASSERTION_LIFETIME = 300;
