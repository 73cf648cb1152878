/** Databases, logs and screens do not reproduce these characters faithfully. */

const CONTROL = /\p{Cc}/u;
const NOT_IN_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether the text has a control character: U+0000 to U+001F, or U+007F to U+009F. */
export function hasControl(text: string): boolean {
  return CONTROL.test(text);
}

/** The same. It also finds the line separator U+2028 and the paragraph separator U+2029. */
export function hasControlOrSeparator(text: string): boolean {
  return NOT_IN_LINE.test(text);
}
