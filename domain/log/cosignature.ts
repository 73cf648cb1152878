/** Cosignatures of witnesses, Ed25519 with a time (C2SP tlog-cosignature v1.0.0). */

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;
/** The last second of which a date can be made (ECMA-262 §21.4.1.1). A later one is not the time of a witness. */
const MAX_SECONDS = 8_640_000_000_000;

/**
 * How far the time of a cosignature may be from the time of the log's service. Readers judge by it how fresh the note is. A clock
 * without synchronization drifts by less within a month, and Kerberos has the same limit (RFC 4120 §8.2).
 */
export const MAX_CLOCK_DIFFERENCE_SECONDS = 300;

interface Cosignature {
  /** When the witness signed, in seconds since 1970. */
  readonly seconds: number;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** The signed message. It repeats the whole text of the note. */
export function cosignedText(seconds: number, text: string): string {
  return `cosignature/v1\ntime ${seconds}\n${text}`;
}

/** The bytes that follow the key id in a signature line. */
export function encodeCosignature({ seconds, signature }: Cosignature): Uint8Array {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(BigInt(seconds));
  return Buffer.concat([time, signature]);
}

/** `undefined` for another length, and for a time of which no date can be made. */
export function decodeCosignature(bytes: Uint8Array): Cosignature | undefined {
  if (bytes.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined;
  const seconds = Number(Buffer.from(bytes.subarray(0, TIME_BYTES)).readBigUInt64BE());
  return seconds <= MAX_SECONDS ? { seconds, signature: bytes.subarray(TIME_BYTES) } : undefined;
}
