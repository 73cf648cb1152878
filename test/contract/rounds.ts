import { byLength } from '../support/length.ts';

/** The number of rounds of a race. MANDATE_TEST_ROUNDS overrides both numbers. */
export function rounds(short: number, full: number = short): number {
  const given = Number(process.env.MANDATE_TEST_ROUNDS);
  return Number.isSafeInteger(given) && given > 0 ? given : byLength({ short, full });
}
