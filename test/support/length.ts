/**
 * How long suites run. `npm test` runs them short; `npm run test:long` runs those of test/long at full length. A suite
 * runs both through one named constant: `const ROUNDS = byLength({ short: 20, full: 200 })`.
 */

/** Set by full-length.ts. */
export const LENGTH = 'MANDATE_TEST_LENGTH';

export function byLength<Amount>({ short, full }: { readonly short: Amount; readonly full: Amount }): Amount {
  return process.env[LENGTH] === 'full' ? full : short;
}

/** Every one at full length; otherwise every tenth, from the first on. */
export function byLengthOf<Item>(items: readonly Item[]): readonly Item[] {
  const step = byLength({ short: 10, full: 1 });
  return items.filter((_, index) => index % step === 0);
}
