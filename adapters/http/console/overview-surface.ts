/** What *Now* and the kill switch read beside the use cases of the API. */

import type { BlockCount, LiveTaskCount, LiveTasksQuestion } from '../../../application/ports/queries.ts';
import type { Backlog } from '../../../application/ports/storage.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';

export interface OverviewSurface {
  countLive(of: LiveTasksQuestion['of']): Promise<LiveTaskCount>;
  countBlocks(): Promise<BlockCount>;
  liftPendingUntil(sponsorKey: SponsorKey): Promise<Instant | undefined>;
  backlog(): Promise<Backlog>;
  readonly hasSink: boolean;
  /** `Service:Operators:TwoPersonUnblock`. */
  readonly twoPersons: boolean;
  /** Seconds until a tool server with status lists refuses an ended task; `undefined` without them. */
  readonly statusLists: number | undefined;
}

/** Counting stops here: more need no other reaction. */
export const MOST_COUNTED = 100_000;
