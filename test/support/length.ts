/**
 * How long suites run: short in `npm test`, and full in `npm run test:long`, which also runs test/long. A suite states both
 * in one constant: `const ROUNDS = byLength({ short: 20, full: 200 })`.
 */

/** `npm run test:long` sets this environment variable to `full`. */
const LENGTH = 'MANDATE_TEST_LENGTH';

export function byLength<Amount>({ short, full }: { readonly short: Amount; readonly full: Amount }): Amount {
  return process.env[LENGTH] === 'full' ? full : short;
}

/** All items at full length, otherwise every tenth. */
export function sampleByLength<Item>(items: readonly Item[]): readonly Item[] {
  const step = byLength({ short: 10, full: 1 });
  return items.filter((_, index) => index % step === 0);
}

/** All items at full length, otherwise a third of them. Three numbers that follow each other select all items. */
export function thirdByLength<Item>(items: readonly Item[], nth: number): readonly Item[] {
  return byLength({ short: items.filter((_, index) => index % 3 === nth % 3), full: items });
}
