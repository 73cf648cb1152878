/**
 * Finds what has left the ledger, for every reader but a verification (departures.ts): the newest sealed `audit.archived` record
 * says it (domain/ledger/archived-part.ts). The record is proved as any other: an owner of the database can insert one into a
 * range that is sealed.
 */

import { type ArchivedPart, type ArchivingRecord, sealedPart } from '../../domain/ledger/archived-part.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import { proveStored, type StoredProving } from './prove.ts';

interface PartReading extends StoredProving {
  readonly checkpoints: StoredProving['checkpoints'] & Pick<Checkpoints, 'archivings'>;
}

export type FindArchivedPart = () => Promise<ArchivedPart | undefined>;

/** Remembers the record that it proved last: a page of the ledger then costs one query. */
export function findArchivedPart(reading: PartReading): FindArchivedPart {
  let proved: ArchivingRecord | undefined;
  return async () => {
    let records = await reading.checkpoints.archivings();
    for (;;) {
      const part = sealedPart(records);
      if (part === undefined) return undefined;
      const { record } = part;
      if (isSame(record, proved)) return part;
      if ((await proveStored(reading, record.seq)).kind === 'proof') {
        proved = record;
        return part;
      }
      records = records.filter((each) => each !== record);
    }
  };
}

function isSame(one: ArchivingRecord, other: ArchivingRecord | undefined): boolean {
  return one.seq === other?.seq && one.at === other.at && one.detail === other.detail;
}
