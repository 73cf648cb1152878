import type { Instant } from '../../domain/instant.ts';

/** What time it is. Tests move it; nothing else reads the system's clock. */
export interface Clock {
  now(): Instant;
}
