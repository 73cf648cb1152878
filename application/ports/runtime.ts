/** The surroundings of a use case: clocks, randomness, hashing, pauses, and the readiness checks. */

import type { Instant } from '../../domain/instant.ts';

/** The current time. Nothing else reads the system clock, so tests can set it. */
export interface Clock {
  now(): Instant;
}

/**
 * The time by two clocks, of which one may be wrong: this instance's and the database's. Without a clock of the database:
 * the system clock, and the time if it had not been set (docs/decisions/0022-two-clocks.md). A promise only if the
 * database must be asked first, which then may throw StorageUnavailable.
 */
export interface SharedTime {
  /** The later of the two times. It decides when a value that may be used once has expired. */
  latest(): Instant | Promise<Instant>;
  /**
   * The earlier of the two times. It decides when shared state ends. A difference within the duration of the reading counts
   * as none.
   */
  earliest(): Instant | Promise<Instant>;
  /**
   * The latest time by the clocks that are not in doubt; `latest` if none is in doubt. A clock is in doubt for a minute after it
   * was set. Both are while they differ too much. What only a clock in doubt finds expired is refused as temporarily unavailable.
   */
  undoubted(): Instant | Promise<Instant>;
}

/** Unpredictable values. */
export interface Randomness {
  /** 26 characters of Crockford base32; values made within a millisecond sort in the order they were made. */
  ulid(): string;
  /** `size` random bytes in base64url. */
  secret(size: number): string;
  /** Unsigned 32-bit numbers. */
  draws(count: number): readonly number[];
}

/** SHA-256 of a text's UTF-8 bytes, in lowercase hex. */
export type Digest = (text: string) => string;

/** Encrypts a text with the secret of its owner, so that what is stored is readable only together with that secret. */
export interface Sealing {
  seal(secret: string, text: string): string;
  /** `undefined` if the sealed text was made with another secret, or altered. */
  open(secret: string, sealed: string): string | undefined;
}

/** SHA-256 of bytes, for records and checkpoints. */
export type { Hash } from '../../domain/ledger/merkle-tree.ts';

/** Compresses bytes in the format of RFC 1950. */
export type Deflate = (bytes: Uint8Array) => Promise<Uint8Array>;

/** Milliseconds since any point of time. Setting the system clock does not change it. */
export type Monotonic = () => number;

/** Yields to the event loop. Long work yields between its parts, so that a request need not wait for all of it. */
export type Turn = () => Promise<void>;

/** Resolves as `work` does, or with `undefined` after `ms` milliseconds; `work` then continues, its result ignored. */
export type TimeLimit = <Answer>(work: Promise<Answer>, ms: number) => Promise<Answer | undefined>;

/** Waits a random time of at most `longestMs` milliseconds, so that conflicting callers do not retry together. */
export type RetryPause = (longestMs: number) => Promise<void>;

export const readinessStatuses = ['Healthy', 'Degraded', 'Unhealthy'] as const;
export type ReadinessStatus = (typeof readinessStatuses)[number];

/** A check of `/readyz`. */
export interface ReadinessCheck {
  /** The check's name in the JSON response, one word. */
  readonly name: string;
  /** Bounded in time; never throws. `detail` is one sentence without secrets. */
  check(): Promise<{ readonly status: ReadinessStatus; readonly detail: string }>;
}
