import type { Lines } from '../ports/exports.ts';

/** Whether two texts have the same lines, however they are split into batches. */
export async function sameLines(left: Lines, right: Lines): Promise<boolean> {
  const [ours, theirs] = [eachLine(left), eachLine(right)];
  try {
    for (;;) {
      const [a, b] = [await ours.next(), await theirs.next()];
      if (a.done || b.done) return a.done === b.done;
      if (a.value !== b.value) return false;
    }
  } finally {
    await Promise.all([ours.return(undefined), theirs.return(undefined)]);
  }
}

async function* eachLine(lines: Lines): AsyncGenerator<string, undefined> {
  for await (const batch of lines) yield* batch;
  return undefined;
}
