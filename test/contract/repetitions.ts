import { byLength } from '../support/length.ts';

/** How often a test repeats a race, by the length of the suites. MANDATE_TEST_REPETITIONS overrides both numbers. */
export function repetitions(short: number, full: number = short): number {
  const given = Number(process.env.MANDATE_TEST_REPETITIONS);
  return Number.isSafeInteger(given) && given > 0 ? given : byLength({ short, full });
}
