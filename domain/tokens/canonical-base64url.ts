/** The texts of JOSE that are no tokens: base64url (RFC 7515 §2), and ids of keys. They need no reader of tokens. */

/** The longest `kid` that is read, in characters. */
export const MAX_KEY_ID = 256;

/**
 * Decodes base64url without padding. Encoding it again must give the same text: flipped trailing bits, and characters that
 * the decoder skips, are refused.
 */
export function decodeCanonical(text: string): Uint8Array | undefined {
  if (text === '') return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
