/** Opens a status list for the tasks of an audience that has none with a free index (`Service:StatusLists`). */

import { decision, type Judgement } from './decision.ts';
import type { Effect, Effects } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';

/** The list to open. Its id is new and random. */
type StatusListOpening = Effects['insert_status_list'];

/** `in_place`: another opening was earlier, or a task has ended meanwhile. */
type StatusListVerdict = 'opened' | 'in_place';

/**
 * Closes the audience's oldest open list if all its indices are taken, and opens the new list if no other one is open. Of
 * two concurrent openings the second finds the list of the first.
 */
export const openStatusList = decision({
  name: 'open_status_list',
  transaction: 'own',

  locks: ({ audience }: StatusListOpening) => [exclusive('status_audience', audience)],

  asks: ({ audience }) => ({ current: ask('open_status_list', audience) }),

  judge: ({ audience, listId, entries, at }, { current }): Judgement<StatusListVerdict> => {
    if (current?.hasRoom) return { verdict: 'in_place', effects: [] };
    const closed: readonly Effect[] =
      current === undefined ? [] : [{ effect: 'close_status_list', listId: current.listId, at }];
    if (current !== undefined && !current.isOnly) return { verdict: 'in_place', effects: closed };
    return {
      verdict: 'opened',
      effects: [...closed, { effect: 'insert_status_list', audience, listId, entries, at }],
    };
  },
});
