/**
 * The length of suites: short in `npm test`, full in `npm run test:long` for those of test/long. A suite states both
 * in one named constant: `const ROUNDS = byLength({ short: 20, full: 200 })`.
 */

/** Set by full-length.ts. */
export const LENGTH = 'MANDATE_TEST_LENGTH';

export function byLength<Amount>({ short, full }: { readonly short: Amount; readonly full: Amount }): Amount {
  return process.env[LENGTH] === 'full' ? full : short;
}

/** Every item in the long suites, otherwise every tenth. */
export function sampleByLength<Item>(items: readonly Item[]): readonly Item[] {
  const step = byLength({ short: 10, full: 1 });
  return items.filter((_, index) => index % step === 0);
}
