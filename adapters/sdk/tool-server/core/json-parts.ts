/**
 * Limits the parts of a JSON text before it is parsed. Parsing, comparing, sorting and freezing cost time for each part. A body
 * of 1 MiB can have 95,000 members, which block all other requests for a third of a second.
 */

/** Members of objects, objects and lists together. Calls of tools have dozens. */
const MAX_PARTS = 10_000;
/** Items of lists: an embedding has some thousand numbers. */
const MAX_ITEMS = 100_000;

/** Whether the text has too many parts. The answer means nothing if the text is not JSON. */
export function hasTooManyParts(text: string): boolean {
  // Each part takes at least one character.
  if (text.length <= MAX_PARTS) return false;
  let parts = 0;
  let items = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x3a: // :
      case 0x5b: // [
      case 0x7b: // {
        parts += 1;
        break;
      case 0x2c: // ,
        items += 1;
        break;
    }
    if (parts > MAX_PARTS || items > MAX_ITEMS) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at += 1;
  }
  return text.length;
}
