/** Shows the findings of the doctor, after a run of its checks. */

import type { Show } from '../asked.ts';
import { readFilters, refusedFilters } from '../filters.ts';
import { screens } from '../screens.ts';
import { renderDoctor } from './doctor.ts';

export const showDoctor: Show = async ({ examine, now }, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screens.doctor.path);
  // The checks wait for other servers. They must not use up a permit of other requests.
  request.permit?.release();
  return { body: renderDoctor({ ...(await examine()), now }) };
};
