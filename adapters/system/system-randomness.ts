/** Unpredictable values from the operating system's generator. */

import { randomBytes, randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Randomness } from '../../application/ports/randomness.ts';

/** Filled at once: asking the generator for each of a ULID's sixteen characters costs more than the ULID. */
const POOL_BYTES = 4096;

export function systemRandomness(): Randomness {
  const ulid = monotonicFactory(pooledFractions());
  return {
    ulid: () => ulid(),
    secret: (size) => randomBytes(size).toString('base64url'),
  };
}

/** Each fraction uses up one random byte, so that it falls evenly on 32 characters. */
function pooledFractions(): () => number {
  const pool = new Uint8Array(POOL_BYTES);
  let next = POOL_BYTES;
  return () => {
    if (next === POOL_BYTES) {
      randomFillSync(pool);
      next = 0;
    }
    const byte = pool[next] ?? 0;
    next += 1;
    return byte / 256;
  };
}
