/** Unpredictable values. */
export interface Randomness {
  /** 26 characters of Crockford base32; values made within a millisecond sort in the order they were made. */
  ulid(): string;
  /** `size` random bytes in base64url. */
  secret(size: number): string;
}
