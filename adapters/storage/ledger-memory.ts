/**
 * The newest record of the ledger that this process saw. A database without it went back in time, for example after a
 * restore or an asynchronous failover: blocks are lost, and assertions would be accepted again. Only a restart forgets.
 */

import type { Instant } from '../../domain/instant.ts';

/** The time is part of it, because a database that went back uses the numbers again. */
export interface RememberedRecord {
  readonly seq: number;
  readonly ts: Instant;
}

export interface LedgerMemory {
  saw(record: RememberedRecord): void;
  newest(): RememberedRecord | undefined;
  /** Remembers that the database does not hold the newest record. */
  missing(): void;
  isMissing(): boolean;
}

export function ledgerMemory(): LedgerMemory {
  let newest: RememberedRecord | undefined;
  let isMissing = false;
  return {
    saw(record) {
      if (newest === undefined || record.seq > newest.seq) newest = record;
    },
    newest: () => newest,
    missing() {
      isMissing = true;
    },
    isMissing: () => isMissing,
  };
}

/** The readiness of a database that went back in time. */
export const WENT_BACK = {
  status: 'Unhealthy',
  detail:
    'The database went back in time: it lacks a record that this process saw. Nothing is read or decided until a restart. See docs/operating.md ("The database went back in time").',
} as const;
