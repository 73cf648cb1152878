/** How often a race is run: a few times by default, more often where MANDATE_TEST_ROUNDS says so. */
export function rounds(usual: number): number {
  const given = Number(process.env.MANDATE_TEST_ROUNDS);
  return Number.isSafeInteger(given) && given > 0 ? given : usual;
}
