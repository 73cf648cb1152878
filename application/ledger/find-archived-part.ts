/**
 * Finds what has left the ledger, for every reader but a verification (departures.ts): the newest sealed `audit.archived` record
 * says it (domain/ledger/archived-part.ts). The record is proved as any other: an owner of the database can insert one into a
 * range that is sealed, or sign its checkpoint with another key.
 */

import { type ArchivedPart, type ArchivingRecord, sealedPart } from '../../domain/ledger/archived-part.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import { proveStored, type StoredProving } from './prove.ts';

export interface PartReading extends StoredProving {
  readonly checkpoints: StoredProving['checkpoints'] & Pick<Checkpoints, 'archivings'>;
  /** `undefined`: a command without keys believes any signature. */
  readonly verifier: CheckpointVerifier | undefined;
}

export type FindArchivedPart = () => Promise<ArchivedPart | undefined>;

/** Remembers the record that it proved last: each further call costs one query. */
export function findArchivedPart(reading: PartReading): FindArchivedPart {
  let proved: ArchivingRecord | undefined;
  return async () => {
    let records = await reading.checkpoints.archivings();
    for (;;) {
      const part = sealedPart(records);
      if (part === undefined) return undefined;
      const { record } = part;
      if (isSame(record, proved)) return part;
      const outcome = await proveStored(reading, record.seq);
      if (outcome.kind === 'proof' && (await isSigned(reading, outcome.proof.checkpoint))) {
        proved = record;
        return part;
      }
      records = records.filter((each) => each !== record);
    }
  };
}

/** A proof accepts an unknown key, for an auditor who kept it. Here a key is believed only if it is configured. */
async function isSigned({ verifier }: PartReading, checkpoint: Checkpoint): Promise<boolean> {
  if (verifier === undefined) return true;
  const verdict = await verifier.verify(checkpoint.kid, canonicalCheckpoint(checkpoint), checkpoint.signature);
  return verdict === 'verified';
}

function isSame(one: ArchivingRecord, other: ArchivingRecord | undefined): boolean {
  return one.seq === other?.seq && one.at === other.at && one.detail === other.detail;
}
