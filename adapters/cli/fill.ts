/** Breaks text into lines between words. */

/** @returns lines of at most `width` characters; a longer word has its own line, so that it can be copied */
export function fill(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
