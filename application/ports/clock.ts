import type { Instant } from '../../domain/instant.ts';

/** The current time. Nothing else reads the system clock, so tests can set it. */
export interface Clock {
  now(): Instant;
}
