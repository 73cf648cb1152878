/**
 * Reports rows beside the ledger that are not as the ledger has them (domain/ledger/compared.ts). A month may be archived while
 * rows of its last days are kept. That is believed only of a proved record (find-archived-part.ts), which is looked up only
 * where a record is missing: one query, and for the first one the proof.
 */

import {
  type Compared,
  type Difference,
  describeDifference,
  differenceIn,
  isRecorded,
  settled,
} from '../../domain/ledger/compared.ts';
import type { Log } from '../ports/telemetry.ts';
import type { FindArchivedPart } from './find-archived-part.ts';

export interface Reporting {
  readonly log: Pick<Log, 'error'>;
  readonly archivedPart: FindArchivedPart;
}

/**
 * Logs an error for each difference, unless the record was archived.
 * @returns each difference, once that is judged
 */
export async function reportDifferences<One extends Difference | undefined>(
  { log, archivedPart }: Reporting,
  differences: readonly One[],
): Promise<readonly (One | Difference)[]> {
  const lacksRecord = differences.some((difference) => difference?.how === 'no_record');
  const part = lacksRecord ? await archivedPart() : undefined;
  return differences.map((difference) => {
    if (difference === undefined) return difference;
    const judged = settled(difference, part);
    const { what, id, how } = judged;
    if (how === 'archived') return judged;
    const outcome = what === 'authorization' ? 'It opens no task' : 'It is not shown';
    const message = `${describeDifference(judged)} ${outcome}: the database was changed outside of the service. See docs/operating.md ("A row is not as the ledger has it").`;
    log.error(message, undefined, { row: what, id, difference: how });
    return judged;
  });
}

/** The rows that the ledger has. The others are reported. */
export async function recordedRows<Row>(
  reporting: Reporting,
  compared: readonly Compared<Row, unknown>[],
): Promise<readonly Row[]> {
  await reportDifferences(reporting, compared.map(differenceIn));
  return compared.filter(isRecorded).map(({ row }) => row);
}
