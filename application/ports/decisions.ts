/**
 * The port of all writes (docs/decisions/0017-lock-read-judge-write.md). Each other file of this folder has the
 * interfaces of one subject, which adapters implement. Reads of the database are ports by noun (tasks.ts, agents.ts,
 * ledger.ts and others); storage.ts has its upkeep. The surroundings are network.ts, runtime.ts (clock, randomness),
 * keys.ts, telemetry.ts and exports.ts. Other servers are identity-provider.ts, log-witnesses.ts and
 * agent-registry.ts. The comments say what an implementation guarantees: atomicity, durability, and what may be
 * thrown.
 */

import type { Decision } from '../decisions/decision.ts';

/** The one method that writes. */
export interface Decisions {
  /**
   * Runs one decision as one transaction: takes its locks, reads its facts, judges, and applies the effects. The effects
   * and the ledger records are durable when this returns. If the judge names no effects, nothing is written. Of two
   * concurrent decisions, one sees the other's effects, because both lock the rows that they share before they read.
   *
   * @throws StorageUnavailable if the database does not answer or cannot take the decision. Whether it was applied is
   *   then unknown.
   */
  decide<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input): Promise<Verdict>;
}

/** Why the database does not answer or decide. All its text is fixed, so it may be logged and shown to operators. */
export interface DatabaseFault {
  /** The error code of Postgres (SQLSTATE), SQLite or the operating system; else a word of the adapter. */
  readonly code: string;
  /** A clause for the middle of a sentence: what the code means. */
  readonly meaning: string;
  /** One or more sentences: what an operator does. */
  readonly act: string;
}

/** `a disk is full (53100)`: the end of a sentence in the log, in `/readyz` and in `mandate doctor`. */
export function describeFault({ meaning, code }: DatabaseFault): string {
  return `${meaning} (${code})`;
}

interface UnavailableDetails {
  readonly fault?: DatabaseFault | undefined;
  readonly address?: (() => string | undefined) | undefined;
}

/**
 * Thrown by storage ports if the database does not answer or cannot take the decision. The caller made no mistake, and
 * whether the decision was applied is unknown. Surfaces answer `temporarily_unavailable` (specification "Errors"). The
 * message is fixed text.
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
  /** `undefined` if the database has no part in it, for example if it was closed. */
  readonly fault: DatabaseFault | undefined;
  /** Host and port of a database that gave no connection. For the operator who runs a command, not for answers. */
  readonly address: (() => string | undefined) | undefined;

  constructor(message: string, { fault, address, ...options }: ErrorOptions & UnavailableDetails = {}) {
    super(message, options);
    this.fault = fault;
    this.address = address;
  }
}

/** The result of a plain read. `undefined` if it found nothing, or the database did not answer. */
export async function foundBy<Found>(read: Promise<Found | undefined>): Promise<Found | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StorageUnavailable) return undefined;
    throw error;
  }
}
