/** Every step of the story asserts what it shows; this is thrown by the first one that is not so. */

export class StoryBroke extends Error {
  override readonly name = 'StoryBroke';
}

/** @param sentence what was expected, in full: it is what the reader is told */
export function must(so: boolean, sentence: string): asserts so {
  if (!so) {
    throw new StoryBroke(sentence);
  }
}
