/** Lists checkpoints in pages, oldest first (specification "GET /audit/checkpoints"). */

import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';

export interface CheckpointsQuestion {
  /** The id of the previous page's last checkpoint; 0 for the first page. */
  readonly after: number;
  readonly limit: number;
}

export interface CheckpointsPage {
  readonly checkpoints: readonly Checkpoint[];
  /** `undefined` on the last page. */
  readonly nextAfter: number | undefined;
}

export async function listCheckpoints(
  { checkpoints }: { readonly checkpoints: Pick<Checkpoints, 'page'> },
  { after, limit }: CheckpointsQuestion,
): Promise<CheckpointsPage> {
  // Read one more than the limit: it tells whether another page follows.
  const found = await checkpoints.page(after, limit + 1);
  const page = found.slice(0, limit);
  return { checkpoints: page, nextAfter: found.length > limit ? page.at(-1)?.checkpointId : undefined };
}
