/**
 * Writes the sealed records after a sequence number, in order, so that an export can continue where the previous one
 * ended. Unsealed records are left out: an append with a lower number may still be running. A sealed range is final, so
 * continuing from its last number neither repeats nor skips a record.
 */

import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Turn } from '../ports/runtime.ts';
import type { FindArchivedPart } from './find-archived-part.ts';
import { recordPages } from './record-pages.ts';

interface RecordExport {
  readonly ledger: Pick<Checkpoints, 'records' | 'sealing'>;
  readonly archivedPart: FindArchivedPart;
  readonly turn: Turn;
  /** The next page is written only after the promise has resolved: a slow reader slows down the export. */
  readonly write: (records: readonly LedgerRecord[]) => Promise<void>;
}

type ExportedRecords =
  | { readonly kind: 'whole' }
  /** Records up to this number have been archived, and may be missing from the export. */
  | { readonly kind: 'archived'; readonly through: number }
  /**
   * No record with the number `after` is sealed, so no export of this ledger ended there, and nothing was written. The
   * database may be a restored backup, which gives the next numbers to other records.
   */
  | { readonly kind: 'unknown_position' };

/** Reading a page takes some milliseconds. */
const RECORDS_AT_ONCE = 1000;

/** @param after the last number of the previous export, or 0 @throws StorageUnavailable */
export async function exportRecords(
  { ledger, archivedPart, turn, write }: RecordExport,
  after: number,
): Promise<ExportedRecords> {
  if (after > 0 && (await ledger.sealing(after)).kind === 'not_sealed') return { kind: 'unknown_position' };
  const range = { firstSeq: after + 1, lastSeq: Number.MAX_SAFE_INTEGER };
  for await (const page of recordPages({ ledger, turn, pageSize: RECORDS_AT_ONCE }, range)) {
    const unsealed = page.findIndex(({ checkpoint }) => checkpoint === undefined);
    const sealed = unsealed === -1 ? page : page.slice(0, unsealed);
    if (sealed.length > 0) await write(sealed);
    if (unsealed !== -1) break;
  }
  // After the last page, because a month may be archived during the export.
  const through = (await archivedPart())?.lastSeq ?? 0;
  return through > after ? { kind: 'archived', through } : { kind: 'whole' };
}
