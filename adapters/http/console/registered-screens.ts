/** What each row of the table of screens shows, and what each form does. */

import type { Screens } from './console-router.ts';
import { showNow } from './screens/now-route.ts';
import { block, showPeople, unblock } from './screens/people-route.ts';
import { showStop, stopAgent, stopPerson, stopTask } from './screens/stop-route.ts';

export const shows: Screens['shows'] = { now: showNow, people: showPeople, stop: showStop };

export const acts: Screens['acts'] = { stopTask, stopAgent, stopPerson, block, unblock };
