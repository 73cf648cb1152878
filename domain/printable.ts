/** Control and format characters, lone surrogates, and spaces other than the common one: they can forge a line. */
const UNSHOWABLE = /\p{C}|[^\P{Z} ]/gu;

/** A text from elsewhere, made safe for a terminal or a log: each such character becomes U+FFFD, and the end is cut. */
export function printable(text: string, maxLength: number): string {
  const shown = text.slice(0, maxLength + 1).replace(UNSHOWABLE, '\u{fffd}');
  return shown.length > maxLength ? `${shown.slice(0, maxLength)}…` : shown;
}
