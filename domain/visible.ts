/**
 * Text from elsewhere, as it is shown on a terminal, in a log or on a screen. One rule for all of them: a reader sees each
 * character, or its number. Otherwise a name could add a line, control the terminal, or turn the direction of writing.
 */

/**
 * Characters without a shape (control, format, private, unassigned), separators other than the common space, and letters,
 * marks and symbols that look like nothing or like a space: fillers of Hangul, two vowels of Khmer, the grapheme joiner and
 * the empty Braille pattern. A variation selector stays: it only changes the shape of the character before it.
 */
const HIDDEN = /\p{C}|[^\P{Z} ]|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/gu;

/** For a single line: line ends are escaped as well. Example: `\u{202e}`. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The same, of at most `maxLength` characters of the text: a longer one is cut, and ends with `…`. */
export function visibleExcerpt(text: string, maxLength: number): string {
  return visibleText(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text);
}

/** The same JSON value. The line ends of its layout stay. Example: `\u202e`. */
export function visibleJson(json: string): string {
  return json.replace(HIDDEN, (character) =>
    character === '\n' ? character : character.split('').map(asEscape).join(''),
  );
}

function asEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
