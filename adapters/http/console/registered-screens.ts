/** What each row of the table of screens shows, and what each form does. */

import type { Screens } from './console-router.ts';
import { showCheckpoints } from './screens/checkpoints-route.ts';
import { showDoctor } from './screens/doctor-route.ts';
import { showLedger } from './screens/ledger-route.ts';
import { showNow } from './screens/now-route.ts';
import { block, showPeople, unblock } from './screens/people-route.ts';
import { showStop, stopAgent, stopPerson, stopTask } from './screens/stop-route.ts';
import { viewActs, viewReads, viewShows } from './screens/view-routes.ts';

export const shows: Screens['shows'] = {
  ...viewShows,
  ...{ now: showNow, people: showPeople, stop: showStop },
  ...{ ledger: showLedger, checkpoints: showCheckpoints, doctor: showDoctor },
};

export const acts: Screens['acts'] = { ...viewActs, stopTask, stopAgent, stopPerson, block, unblock };

export const reads: Screens['reads'] = viewReads;
