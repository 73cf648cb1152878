/** Whether two clocks are close enough for what depends on both. */

import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/clock-skew.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

/** Clocks that are kept in time differ by milliseconds: this is a clock that is not. */
const NOTEWORTHY_SECONDS = 5;

/** @param ahead seconds by which `whose` is ahead of this machine's @param whose as in `The database's clock` */
export function judgeClock(whose: string, ahead: number): Finding {
  const apart = Math.abs(ahead);
  if (apart <= NOTEWORTHY_SECONDS) return ok(`${whose} and this machine's agree.`);
  const sentence = `${whose} is ${Math.round(apart)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} this machine's.`;
  const remedy = 'Have both machines keep their time by NTP.';
  if (apart <= CLOCK_SKEW_SECONDS) return warning(sentence, remedy);
  return failed(`${sentence} That is more than the ${CLOCK_SKEW_SECONDS} seconds that tokens are given.`, remedy);
}
