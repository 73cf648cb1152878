/**
 * The checkpoints of a verification whose records have left the ledger. An `audit.archived` record under a later checkpoint says
 * so. When a verification meets such a checkpoint, this record is not verified yet. So the end of the verification judges the
 * checkpoint anew. Then a record vouches only if its own checkpoint was compared with its records.
 */

import {
  type ArchivedPart,
  largestPart,
  mayKeepRecords,
  namesCheckpoint,
  sealedPart,
  withoutOwnMonth,
} from '../../domain/ledger/archived-part.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import { type PagedReading, recordPages } from './record-pages.ts';

/** A checkpoint that lacks records. */
interface Lacking {
  readonly checkpoint: Checkpoint;
  readonly previous: Checkpoint | undefined;
  /** How many records it still has. */
  readonly held: number;
}

export interface Departures {
  /** Whether a record says that the missing records were archived. */
  excuse(lacking: Lacking): Promise<boolean>;
  /** Takes what a verified record says. */
  add(part: ArchivedPart): void;
  /** What the verified records say, one for each month that left. */
  verified(): readonly ArchivedPart[];
  /** The first excused checkpoint that no verified record names. */
  unnamed(): Promise<Lacking | undefined>;
}

interface DeparturesReading extends Omit<PagedReading, 'pageSize'> {
  readonly ledger: Pick<Checkpoints, 'records' | 'archivings'>;
}

export async function departures(reading: DeparturesReading): Promise<Departures> {
  const newestClaim = async () => sealedPart(await reading.ledger.archivings());
  const verified = new Map<number, ArchivedPart>();
  const keeping: Lacking[] = [];
  let claim = await newestClaim();
  let first: Lacking | undefined;
  let last: Lacking | undefined;
  return {
    async excuse(lacking) {
      // A month may have been archived after some of its records were read.
      if (!namesCheckpoint(claim, lacking.checkpoint)) claim = await newestClaim();
      if (!(await isNamed(reading, partsOf(claim), lacking))) return false;
      first ??= lacking;
      last = lacking;
      if (lacking.held > 0) keeping.push(lacking);
      return true;
    },
    add(part) {
      verified.set(part.before, largestPart([verified.get(part.before), part]) ?? part);
    },
    verified: () => [...verified.values()],
    async unnamed() {
      if (last === undefined) return undefined;
      const { checkpointId } = last.checkpoint;
      const parts = partsOf(largestPart([...verified.values()])).filter((part) => checkpointId <= part.lastCheckpoint);
      if (parts.length === 0) return first;
      for (const lacking of keeping) if (!(await isNamed(reading, parts, lacking))) return lacking;
      return undefined;
    },
  };
}

const RECORDS_AT_ONCE = 500;

/** The two parts that may have left by a record: with its own month, and without it. The record precedes the drop of the month. */
function partsOf(claim: ArchivedPart | undefined): readonly ArchivedPart[] {
  return claim === undefined ? [] : [claim, withoutOwnMonth(claim)].filter((part) => part !== undefined);
}

/**
 * The remaining records of a checkpoint cannot be verified. So they must be of a month that stays. The signed times must show
 * that the checkpoint reaches across the end of the archived part.
 */
async function isNamed(
  { ledger, turn }: DeparturesReading,
  parts: readonly ArchivedPart[],
  { checkpoint, previous, held }: Lacking,
): Promise<boolean> {
  const naming = parts.filter((part) => namesCheckpoint(part, checkpoint));
  if (naming.length === 0 || held === 0) return naming.length > 0;
  let fitting = naming;
  // Reads them again: the month may have been archived after they were read.
  for await (const page of recordPages({ ledger, turn, pageSize: RECORDS_AT_ONCE }, checkpoint)) {
    fitting = fitting.filter(
      (part) => mayKeepRecords(part, checkpoint, previous) && page.every(({ at }) => at >= part.before),
    );
  }
  return fitting.length > 0;
}
