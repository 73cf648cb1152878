/** A text that the ledger names by a hash. So the text can be deleted, and cannot then be guessed from the hash. */
export interface SealedText {
  /** Random characters. */
  readonly salt: string;
  /** SHA-256, in lowercase hex, of the text with its salt in UTF-8. */
  readonly hash: string;
}

/**
 * Of a purpose or a reason: the salt's characters, then the text. The words of an approval have another form
 * (domain/approvals/commitment.ts).
 */
export function saltedText(salt: string, text: string): string {
  return `${salt}${text}`;
}

/** 256 bits in base64url. Of a salt with another length, a part of the text could have been moved into it unnoticed. */
const SALT = /^[\w-]{43}$/;

/** Whether the hash is that of the text with this salt. @param digest SHA-256 of a text in UTF-8, in lowercase hex */
export function isHashOfText(digest: (text: string) => string, { salt, hash }: SealedText, text: string): boolean {
  return SALT.test(salt) && digest(saltedText(salt, text)) === hash;
}
