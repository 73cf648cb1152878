/** Runs the checks of the doctor, or waits for those that run, and shows their findings. */

import type { Report } from '../../../../application/doctor/shared-examination.ts';
import type { Show } from '../asked.ts';
import { renderDoctor } from './doctor.ts';

/** @param examine takes at most some seconds, and runs once at a time */
export function doctorScreen(examine: () => Promise<Report>): Show {
  return async ({ now }, request) => {
    // The checks wait for other servers. They must not use up a permit of other requests.
    request.permit?.release();
    return { body: renderDoctor({ ...(await examine()), now }) };
  };
}
