/**
 * Text from elsewhere, as it is shown on a terminal, in a log or on a screen. One rule for all of them: a reader sees each
 * character, or its number. Otherwise a name could add a line, control the terminal, or turn the direction of writing. And
 * two names could look like one.
 */

/**
 * Letters, marks and symbols that have an empty shape, although Unicode does not call them ignorable. They are the joiners of
 * Tifinagh and Brahmi, the empty Braille pattern, the filler of Khitan, two blanks of hieroglyphs, and an empty note head.
 */
const EMPTY = String.raw`\u2d7f\u2800\u{1107f}\u{13441}\u{13442}\u{16fe4}\u{1d159}`;
/** Characters that show nothing: control and format characters, spaces, fillers, selectors of variants, and the ones above. */
const BLANK = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}${EMPTY}`;
/** Also private and unassigned characters, which many fonts lack. Without the common space, which has a width. */
const HIDDEN = `[[${BLANK}\\p{C}]--[ ]]`;

/** Scripts whose letters join, or form one shape. Words in them are spelled with joiners, for example می‌خواهم. */
const JOINING_SCRIPTS = [
  ...['Adlm', 'Arab', 'Mand', 'Mani', 'Mong', 'Nkoo', 'Phag', 'Rohg', 'Syrc'],
  ...['Beng', 'Deva', 'Gujr', 'Guru', 'Khmr', 'Knda', 'Mlym', 'Mymr', 'Orya', 'Sinh', 'Taml', 'Telu', 'Tibt'],
];
const BETWEEN_LETTERS = JOINING_SCRIPTS.map((script) => {
  const letter = `[\\p{scx=${script}}&&[\\p{L}\\p{M}]]`;
  return `(?<=${letter}.)(?=${letter})`;
}).join('|');
const JOINER = `[\\u200c\\u200d](?:${BETWEEN_LETTERS})`;

/**
 * Emoji that Unicode lists. Their joiners and their selector U+FE0F are visible: without them one sees another emoji, or a sign.
 * A flag of a region has characters that show only where the font has this flag.
 */
const EMOJI = String.raw`(?=[^\x00-\x7f]|.\ufe0f)[\p{RGI_Emoji}--\p{RGI_Emoji_Tag_Sequence}]`;

/** Signs of currencies that platforms write before an amount, beside the characters of class Sc and the codes of ISO 4217. */
const CURRENCIES = 'Bs|Ft|[Kk]n|[Kk]r|KM|Kč|[Ll]ei|[Ll]eu|RM|Rp|Rs|[Zz]ł|[KLPQр]';
const BEFORE_AMOUNT = String.raw`(?:[\p{Sc}%]|(?<![\p{L}\p{M}\p{N}])(?:[A-Z]{3}|${CURRENCIES})\.?)`;
/** A sign, or an abbreviation of at most four letters: `€`, `zł`, `kg`, `Mio.`, `%`, `°C`, `PM`. */
const AFTER_AMOUNT = String.raw`(?:[\p{Sc}%‰°]|\p{L}[\p{L}\p{M}]{0,3}(?![\p{L}\p{M}\p{N}])|\p{Lu}{1,2}\p{Sc})`;
/** Marks of direction beside an amount, for example in Hebrew. They are shown by their numbers. */
const MARKS = String.raw`[\u200e\u200f\u061c]{0,2}`;
/** A typographic space of an amount, for example of `1 234,50 €` in French. */
const AMOUNT_SPACE = [
  String.raw`(?<=\p{Nd}${MARKS})[\p{Zs}--[ ]](?=\p{Nd}|${MARKS}${AFTER_AMOUNT})`,
  String.raw`(?<=${BEFORE_AMOUNT}${MARKS})[\p{Zs}--[ ]](?=${MARKS}[\-+−]?${MARKS}\p{Nd})`,
].join('|');

const HOLDS_HIDDEN = new RegExp(HIDDEN, 'v');
const ALL_BLANK = new RegExp(`^[${BLANK}]*$`, 'v');

let pieces: RegExp | undefined;

/** Made for the first text that needs it: listing all emoji takes 50 ms, which each command and thread would pay at its start. */
function piece(): RegExp {
  pieces ??= new RegExp(`(?<kept>${EMOJI}|${JOINER})|(?<space>${AMOUNT_SPACE})|${HIDDEN}`, 'gv');
  return pieces;
}

/** Whether a reader would see nothing of the text. */
export function isBlank(text: string): boolean {
  return ALL_BLANK.test(text);
}

/**
 * For a single line: line ends are escaped as well. Example: `\u{202e}`. A typographic space of an amount is a common space.
 */
export function visibleText(text: string): string {
  return replaceHidden(text, asNumber, ' ');
}

/**
 * Words that a person reads before they act. Two texts that differ are shown differently. So a space at the beginning or end is
 * shown by its number, and so is a backslash that would look like the beginning of a number. Example: `\u{20}ACME`.
 */
export function visibleWords(text: string): string {
  const marked = text.replace(/\\(?=u\{)|^ +|(?<! ) +$/g, (run) => [...run].map(asNumber).join(''));
  return visibleText(marked);
}

/** The same, of at most `maxLength` characters of the text: a longer one is cut, and ends with `…`. */
export function visibleExcerpt(text: string, maxLength: number): string {
  return visibleText(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text);
}

/** The same JSON value. The line ends of its layout stay. Example: `\u202e`. */
export function visibleJson(json: string): string {
  return replaceHidden(json, (character) =>
    character === '\n' ? character : character.split('').map(asEscape).join(''),
  );
}

/** @param space replaces a typographic space of an amount; by default it is hidden as elsewhere */
function replaceHidden(text: string, replaced: (character: string) => string, space?: string): string {
  // The long search for emoji is for texts that need it.
  if (!HOLDS_HIDDEN.test(text)) return text;
  return text.replace(piece(), (piece, kept?: string, amountSpace?: string) => {
    if (kept !== undefined) return kept;
    return (amountSpace !== undefined ? space : undefined) ?? replaced(piece);
  });
}

function asNumber(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

function asEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
