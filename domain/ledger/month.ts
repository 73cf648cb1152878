/** Calendar months in UTC: the ledger is partitioned and archived by month (specification "Ledger and seal"). */

import { type Instant, instantFromMillis, toMillisecondText } from '../instant.ts';

declare const brand: unique symbol;
/** For example `2026-11`. Months compare like their texts. */
export type Month = string & { readonly [brand]: 'Month' };

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

export function parseMonth(text: string): Month | undefined {
  return MONTH.test(text) ? (text as Month) : undefined;
}

/** @param instant before the year 10000 */
export function monthOf(instant: Instant): Month {
  return toMillisecondText(instant).slice(0, 7) as Month;
}

export function startOfMonth(month: Month): Instant {
  return instantFromMillis(Date.parse(`${month}-01T00:00:00.000Z`));
}

export function nextMonth(month: Month): Month {
  const [year, number] = [Number(month.slice(0, 4)), Number(month.slice(5))];
  const [nextYear, next] = number === 12 ? [year + 1, 1] : [year, number + 1];
  return `${String(nextYear).padStart(4, '0')}-${String(next).padStart(2, '0')}` as Month;
}
