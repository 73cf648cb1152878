/** Unpredictable values. */
export interface Randomness {
  /** 26 characters of Crockford base32, in the order they were made within a millisecond. */
  ulid(): string;
  /** `size` random bytes in base64url. */
  secret(size: number): string;
}
