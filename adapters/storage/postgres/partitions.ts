/** The ledger's partitions: one a month, created ahead by `migrate`, and every hour while the service runs. */

import { type Instant, toMillisecondText } from '../../../domain/instant.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';

const create = { name: 'create_ledger_partitions', text: 'select create_ledger_partitions($1, $2)' };

/** `ledger_2026_11` for any instant in that month, UTC. */
export function partitionOf(instant: Instant): string {
  return `ledger_${toMillisecondText(instant).slice(0, 7).replace('-', '_')}`;
}

export async function createPartitions(run: Run, now: Instant, monthsAhead: number): Promise<void> {
  await run(create, [bindInstant(now), monthsAhead]);
}
