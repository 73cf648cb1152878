/** As many as a line takes. */
const SHOWN = 4;

/** `a, b, c, d and 3 more`. */
export function listed(all: readonly string[]): string {
  const rest = all.length - SHOWN;
  return rest > 0 ? `${all.slice(0, SHOWN).join(', ')} and ${rest} more` : all.join(', ');
}
