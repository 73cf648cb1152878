/** The log of requests that were not let in: how many, once a second for each surface and reason. */

import type { Log } from '../../../application/ports/log.ts';
import { countedLines } from '../counted-lines.ts';
import type { AdmissionRefusal } from './refusals.ts';
import type { Surface } from './request-kind.ts';

export function refusedLines(log: Log): (surface: Surface, reason: AdmissionRefusal) => void {
  const count = countedLines<{ surface: Surface; reason: AdmissionRefusal }>(log, 'requests were not let in');
  return (surface, reason) => count({ surface, reason });
}
