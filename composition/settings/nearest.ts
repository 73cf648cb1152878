/** The known name that somebody probably meant. */

/**
 * The candidate with the fewest letters to change, whatever their case; `undefined` when even that one differs in more
 * than a third of its letters and would only mislead.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const tolerated = candidate.length / 3;
    // Names of very different lengths are not compared: a variable's name can be as long as it likes.
    if (Math.abs(candidate.length - name.length) > tolerated) continue;
    const changes = distance(name.toLowerCase(), candidate.toLowerCase());
    if (changes < fewest && changes <= tolerated) {
      best = candidate;
      fewest = changes;
    }
  }
  return best;
}

/** Levenshtein distance, one row of its table at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
