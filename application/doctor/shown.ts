/** Longer than any issuer or audience in use. */
const MAX_SHOWN = 160;

/** Text that somebody sent, in quotes, so that it can neither end a line nor move a terminal's cursor. */
export function shown(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return `"${cut.replace(/[^\x20-\x7e…]|["\\]/g, '?')}"`;
}
