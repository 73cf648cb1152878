/**
 * A process remembers the newest record of the ledger, to notice that its database went back in time. A backup was restored
 * under it, or a standby without the last commits took over. Then the database has lost blocks, ends of tasks and spent
 * assertions, and no decision may rest on it.
 *
 * The rule, which both databases follow:
 *
 * 1. After each commit, and when it reads the newest record, the process calls `saw` with the record. The memory keeps
 *    the record with the highest number.
 * 2. When the database may be another one, the process looks for the record of `newest` before it decides or reads
 *    anything there. SQLite looks after a commit of another process, Postgres on each new connection.
 * 3. If `isMissing` says so, it calls `missing`. From then on `wentBack` is true until the process ends, even if the
 *    record comes back. Every call but readiness is refused, and readiness answers WENT_BACK.
 *
 * A record is identified by number and hash: after a restore, another record may get the number. The hash is over all its
 * columns, and each engine makes its own.
 */

import type { Instant } from '../../domain/instant.ts';

export interface RememberedRecord {
  readonly seq: number;
  /** For the log. */
  readonly ts: Instant;
  readonly hash: string;
}

export interface LedgerMemory {
  /** @param record one that the database held when it was read, or that a commit has made durable */
  saw(record: RememberedRecord): void;
  /** The record with the highest number of all that were seen; `undefined` before the first. Kept after `missing`. */
  newest(): RememberedRecord | undefined;
  /** The database no longer holds `newest`. This is never taken back. */
  missing(): void;
  wentBack(): boolean;
}

export function ledgerMemory(): LedgerMemory {
  let newest: RememberedRecord | undefined;
  let isBack = false;
  return {
    saw(record) {
      // The database that went back gives numbers a second time.
      if (!isBack && record.seq > (newest?.seq ?? 0)) newest = record;
    },
    newest: () => newest,
    missing() {
      isBack = true;
    },
    wentBack: () => isBack,
  };
}

/**
 * Whether the database has lost the remembered record. No record excuses it that says which months were archived: it cannot be
 * proved here, and an owner of the database can insert one. A running process remembers a record of the last minute, since
 * each new connection reads the newest one. So only a process that was suspended for a month can remember an archived record.
 * It answers WENT_BACK until it is restarted.
 * @param found the hash of the record that has its number now
 */
export function isMissing(remembered: RememberedRecord, found: string | undefined): boolean {
  return found !== remembered.hash;
}

/** The readiness of a process whose database went back in time. */
export const WENT_BACK = {
  status: 'Unhealthy',
  detail:
    'The newest record that this process saw is no longer in the ledger: a backup was restored, or a standby without the last commits took over. Nothing is decided until a restart. Compare before it, because a restart forgets. See docs/operating.md ("The database went back in time").',
} as const;
