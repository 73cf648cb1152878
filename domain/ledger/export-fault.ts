/** The faults of an export (specification "Ledger and seal"): in its text, its order or its seal. */

import type { Month } from './month.ts';
import { describeFault, type VerificationFault } from './verification.ts';

export type ExportFault =
  | VerificationFault
  | {
      readonly kind: 'damaged';
      readonly damage: 'not_gzip' | 'cut_off' | 'not_utf8' | 'line_too_long' | 'followed_by_more';
    }
  /** @property line counted from 1, which is the header */
  | { readonly kind: 'malformed_line'; readonly line: number }
  | {
      readonly kind: 'count';
      readonly of: 'checkpoints' | 'records';
      readonly announced: number;
      readonly held: number;
    }
  | { readonly kind: 'out_of_order'; readonly seq: number }
  /** The record names a checkpoint whose range does not contain it. */
  | { readonly kind: 'wrong_checkpoint'; readonly seq: number }
  | { readonly kind: 'wrong_month'; readonly month: Month }
  | { readonly kind: 'mark_outside'; readonly checkpointId: number };

const DAMAGES = {
  not_gzip: 'The export is no gzip file, or a damaged one.',
  cut_off: 'The export is cut off.',
  not_utf8: 'The export is damaged: its text is not UTF-8.',
  line_too_long: 'The export is damaged: it has a line that is longer than any could be.',
  followed_by_more: 'The export is followed by something else in its file.',
} as const;

/** One sentence for an auditor; it never shows the content of a record. */
export function describeExportFault(fault: ExportFault): string {
  switch (fault.kind) {
    case 'damaged':
      return DAMAGES[fault.damage];
    case 'malformed_line':
      return fault.line === 1
        ? 'The export does not begin with the header of an export.'
        : `Line ${fault.line} of the export is malformed.`;
    case 'count':
      return `The export has ${fault.held} ${fault.of} where its header announces ${fault.announced}.`;
    case 'out_of_order':
      return `The record with sequence number ${fault.seq} is out of order in the export, or there twice.`;
    case 'wrong_checkpoint':
      return `The record with sequence number ${fault.seq} names another checkpoint than the one that seals it.`;
    case 'wrong_month':
      return `The records of the export are not those of ${fault.month}, the month in its header.`;
    case 'mark_outside':
      return `The export does not hold checkpoint ${fault.checkpointId}, which a mark names, so it cannot confirm it.`;
    default:
      return describeFault(fault);
  }
}
