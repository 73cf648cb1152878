/** A text that the ledger names by a hash. So the text can be deleted, and cannot then be guessed from the hash. */
export interface SealedText {
  /** Random characters. */
  readonly salt: string;
  /** SHA-256 of the salt's characters, then of the text in UTF-8; in lowercase hex. */
  readonly hash: string;
}

/** @param digest SHA-256 of the text in UTF-8, in lowercase hex */
export function hashOfText(digest: (text: string) => string, salt: string, text: string): string {
  return digest(`${salt}${text}`);
}

/** 256 bits in base64url. Of a salt with another length, a part of the text could have been moved into it unnoticed. */
const SALT = /^[\w-]{43}$/;

/** Whether the hash is that of the text with this salt. */
export function isHashOfText(digest: (text: string) => string, { salt, hash }: SealedText, text: string): boolean {
  return SALT.test(salt) && hashOfText(digest, salt, text) === hash;
}
