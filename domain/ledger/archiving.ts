/** The rules for archiving months of the ledger (specification "Ledger and seal"), and the reasons to refuse a month. */

import { describeDifference, MOST_DIFFERENCE_SECONDS } from '../clocks.ts';
import { type Instant, plusSeconds } from '../instant.ts';
import type { DepartedMonth } from './archived-part.ts';
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
  /** `ledger_archives` lists other exports than the sealed records of earlier months. */
  | { readonly kind: 'not_exported'; readonly month: Month }
  /** No checkpoint sealed the record of the export in time. The next run finds the record, and continues. */
  | { readonly kind: 'record_not_sealed'; readonly month: Month }
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
      return `${stop.month} was not exported, because ledger_archives lists other exports than the sealed records audit.archived: compare both with your exports before you archive the month.`;
    case 'record_not_sealed':
      return `${stop.month} was exported and recorded, but not removed, because no checkpoint has sealed its record yet: run the command again while the service seals.`;
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

/** What `audit.archived` names: one line of JSON, ranges inclusive, null if the month was empty. */
interface ArchiveDetail {
  readonly partition: string;
  readonly month: DepartedMonth;
  /** The path of the export. */
  readonly location: string;
  /** All that left before (archived-part.ts). About 200 bytes a month: a record has room for half a century. */
  readonly before: readonly DepartedMonth[];
}

export function archivedEntry(at: Instant, { partition, month, location, before }: ArchiveDetail): LedgerEntry {
  const { checkpoints = null, sequence = null, sha256 = null } = month;
  return {
    at,
    event: 'audit.archived',
    decision: 'allow',
    detail: JSON.stringify({
      partition,
      checkpoints,
      sequence,
      export: location.toWellFormed(),
      sha256,
      before: before.map((one) => ({
        month: one.month ?? null,
        checkpoints: one.checkpoints ?? null,
        sequence: one.sequence ?? null,
        sha256: one.sha256 ?? null,
      })),
    }),
  };
}
