/** Which known names were probably meant by a mistyped one. */

import { distance } from 'fastest-levenshtein';

/**
 * The candidates with the smallest edit distance, the nearest first, ignoring case. A candidate that differs in more than a
 * third of its letters is left out, because the suggestion would mislead. Two letters that changed places, and a letter that
 * moved, count as one difference: these are common when typing fast, also in a short name.
 */
export function nearest(name: string, candidates: Iterable<string>, most: number): readonly string[] {
  const typed = name.toLowerCase();
  const found: { readonly candidate: string; readonly changes: number }[] = [];
  for (const candidate of candidates) {
    const tolerated = candidate.length / 3;
    // Names of very different lengths are not compared, because what was typed may be very long.
    if (Math.abs(candidate.length - name.length) > tolerated) continue;
    const changes = differences(typed, candidate.toLowerCase());
    if (changes <= tolerated) found.push({ candidate, changes });
  }
  // The sort is stable: of two candidates as near, the first stays first.
  found.sort((one, other) => one.changes - other.changes);
  return found.slice(0, most).map(({ candidate }) => candidate);
}

function differences(typed: string, candidate: string): number {
  const changes = distance(typed, candidate);
  return changes === 2 && sorted(typed) === sorted(candidate) ? 1 : changes;
}

function sorted(text: string): string {
  return [...text].toSorted().join('');
}
