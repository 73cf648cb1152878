/** A text that the ledger names by a hash. So the text can be deleted, and cannot then be guessed from the hash. */
export interface SealedText {
  /** Random characters. */
  readonly salt: string;
  /** SHA-256 of the salt's characters, then of the text in UTF-8; in lowercase hex. */
  readonly hash: string;
}
