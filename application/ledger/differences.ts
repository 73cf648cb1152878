/** Reports rows beside the ledger that are not as the ledger has them (domain/ledger/compared.ts). */

import { type Compared, type Difference, describeDifference, isRecorded } from '../../domain/ledger/compared.ts';
import type { Log } from '../ports/telemetry.ts';

export function reportDifference(log: Pick<Log, 'error'>, difference: Difference): void {
  const { what, id, how } = difference;
  // A month may be archived while rows of its last days are kept.
  if (how === 'archived') return;
  const message = `${describeDifference(difference)} It is not shown: the database was changed outside of the service. See docs/operating.md ("A row is not as the ledger has it").`;
  log.error(message, undefined, { row: what, id, difference: how });
}

/** The rows that the ledger has. The others are reported. */
export function recordedRows<Row>(
  log: Pick<Log, 'error'>,
  compared: readonly Compared<Row, unknown>[],
): readonly Row[] {
  for (const each of compared) if (each.kind === 'differs') reportDifference(log, each.difference);
  return compared.filter(isRecorded).map(({ row }) => row);
}
