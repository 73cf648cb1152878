/** Every step of the quickstart asserts its result; the first failing step throws this error. */

export class StoryBroke extends Error {
  override readonly name = 'StoryBroke';
}

/** @param sentence the expectation as a full sentence; it is shown to the reader */
export function must(so: boolean, sentence: string): asserts so {
  if (!so) {
    throw new StoryBroke(sentence);
  }
}
