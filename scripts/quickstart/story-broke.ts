/** Every step of the quickstart checks its result. The first failed check throws this error. */

export class StoryBroke extends Error {
  override readonly name = 'StoryBroke';
}

/** @param sentence the expectation, in a full sentence that the reader sees */
export function must(so: boolean, sentence: string): asserts so {
  if (!so) {
    throw new StoryBroke(sentence);
  }
}
