/** Longer than any issuer or audience in use. */
const MAX_QUOTED = 160;

/**
 * Quotes text from a token or the settings. Everything but printable ASCII becomes `?`, and so do quotes and
 * backslashes: the text can neither break the line nor send a terminal escape.
 */
export function quoteSafely(text: string): string {
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return `"${cut.replace(/[^\x20-\x7e…]|["\\]/g, '?')}"`;
}
