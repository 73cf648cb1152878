/** Shows the findings of the doctor, after a run of its checks. */

import type { Show } from '../asked.ts';
import { renderDoctor } from './doctor.ts';

export const showDoctor: Show = async ({ examine, now }, request) => {
  // The checks wait for other servers. They must not use up a permit of other requests.
  request.permit?.release();
  return { body: renderDoctor({ ...(await examine()), now }) };
};
