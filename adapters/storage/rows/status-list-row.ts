/** When a status list without tasks is closed and deleted. */

import { type Instant, plusSeconds } from '../../../domain/instant.ts';

/** A list that gets no further task for so long is unused, or its audience is. */
const UNUSED_AFTER_SECONDS = 86_400;

/** Longer than any transaction that may still give a task an index of a list which is closed meanwhile. */
const CLOSED_FOR_SECONDS = 3600;

/** By when a list without tasks was created, so that it is closed; and by when it was closed, so that it is deleted. */
export function unusedLists(until: Instant): { readonly createdBy: Instant; readonly closedBy: Instant } {
  return { createdBy: plusSeconds(until, -UNUSED_AFTER_SECONDS), closedBy: plusSeconds(until, -CLOSED_FOR_SECONDS) };
}
