/** The rules for archiving months of the ledger (specification "Ledger and seal"), and the reasons to refuse a month. */

import { describeDifference, MOST_DIFFERENCE_SECONDS } from '../clocks.ts';
import { type Instant, plusSeconds } from '../instant.ts';
import { describeLedgerFault, type LedgerFault } from './log-fault.ts';
import type { LedgerEntry } from './record.ts';
import { type Month, monthOf } from './time-range.ts';
import { describeExportFault, type ExportFault } from './verification.ts';

/**
 * The first month to keep. Earlier months exceed the retention even if the database's clock is `MOST_DIFFERENCE_SECONDS`
 * behind; at a larger difference no month is archived (`clocks_disagree`).
 */
export function cutoffMonth(now: Instant, retentionSeconds: number): Month {
  return monthOf(plusSeconds(now, -retentionSeconds - MOST_DIFFERENCE_SECONDS));
}

/** Why a month was not archived. The ledger still holds it unchanged. */
export type ArchiveStop =
  | { readonly kind: 'after_current_month'; readonly before: Month }
  /** `ahead`: seconds by which the database's clock is ahead of this machine's. */
  | { readonly kind: 'clocks_disagree'; readonly ahead: number }
  | { readonly kind: 'busy' }
  | { readonly kind: 'archived_before'; readonly month: Month; readonly partition: string }
  | { readonly kind: 'undelivered'; readonly month: Month }
  | { readonly kind: 'not_sealed'; readonly month: Month }
  /** The database says that records of the month were exported with an earlier one, but they cannot have been. */
  | { readonly kind: 'not_exported'; readonly month: Month }
  | { readonly kind: 'not_intact'; readonly month: Month; readonly fault: LedgerFault }
  /** The written file does not read back as the intended content. It has been deleted. */
  | {
      readonly kind: 'read_back';
      readonly month: Month;
      readonly location: string;
      readonly fault: ExportFault | undefined;
    }
  /** A file with the export's name exists, with other content. */
  | {
      readonly kind: 'export_differs';
      readonly month: Month;
      readonly location: string;
      readonly fault: ExportFault | undefined;
    }
  | { readonly kind: 'gained'; readonly month: Month; readonly partition: string }
  | { readonly kind: 'locked'; readonly month: Month }
  | { readonly kind: 'overtaken'; readonly month: Month };

/** One or two sentences for the operator: the problem, and what to do. */
export function describeStop(stop: ArchiveStop): string {
  switch (stop.kind) {
    case 'after_current_month':
      return `--before ${stop.before} is after the current month: only months that are over can be archived.`;
    case 'clocks_disagree':
      return `${describeDifference("The database's clock", stop.ahead)} No month is removed until both agree: have both machines keep their time by NTP.`;
    case 'busy':
      return 'Another audit-archive is running on this database.';
    case 'archived_before':
      return `${stop.month} has been archived before, but the ledger has a partition ${stop.partition} again: find out why before you archive it.`;
    case 'undelivered':
      return `The sink has not received every record of ${stop.month} yet: run the command again when it has.`;
    case 'not_sealed':
      return `Not every record of ${stop.month} is sealed yet: run the command again after the service's next sealing pass.`;
    case 'not_exported':
      return `${stop.month} holds records that no export can have, but ledger_archives lists them as exported: compare its rows with your exports before you archive the month.`;
    case 'not_intact':
      return `${stop.month} was not exported, because the seal is not intact. ${describeLedgerFault(stop.fault)}`;
    case 'read_back':
      return `The export of ${stop.month} did not read back as it was written, and was deleted: ${stop.location}.${explained(stop.fault)}`;
    case 'export_differs':
      return `${stop.location} exists already and differs from the export of ${stop.month}: move the file away and run the command again.${explained(stop.fault)}`;
    case 'gained':
      return `${stop.partition} got a new record while ${stop.month} was exported, and was not removed: run the command again after the service's next sealing pass.`;
    case 'locked':
      return `${stop.month} was exported but not removed, because another session holds a lock on the ledger: run the command again.`;
    case 'overtaken':
      return `${stop.month} was exported but not removed, because another program changed the archived months: run the command again.`;
  }
}

function explained(fault: ExportFault | undefined): string {
  return fault === undefined ? '' : ` ${describeExportFault(fault)}`;
}

/** The `detail` of `audit.archived`: one line of JSON, ranges inclusive, null if the month was empty. */
interface ArchiveDetail {
  readonly partition: string;
  readonly firstCheckpoint: number | undefined;
  readonly lastCheckpoint: number | undefined;
  readonly firstSeq: number | undefined;
  readonly lastSeq: number | undefined;
  /** The path of the export. */
  readonly location: string;
  /** Hash of the export file; lowercase hex. */
  readonly sha256: string;
}

export function archivedEntry(at: Instant, detail: ArchiveDetail): LedgerEntry {
  const { partition, firstCheckpoint, lastCheckpoint, firstSeq, lastSeq, location, sha256 } = detail;
  return {
    at,
    event: 'audit.archived',
    decision: 'allow',
    detail: JSON.stringify({
      partition,
      checkpoints: range(firstCheckpoint, lastCheckpoint),
      sequence: range(firstSeq, lastSeq),
      export: location.toWellFormed(),
      sha256,
    }),
  };
}

function range(first: number | undefined, last: number | undefined): { first: number; last: number } | null {
  return first === undefined || last === undefined ? null : { first, last };
}
