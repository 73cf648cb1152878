/** Creates unpredictable values and hashes with node:crypto. */

import { hash, randomBytes, randomFillSync, randomInt } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Digest, Hash, Randomness } from '../../application/ports/runtime.ts';

/** Random bytes are drawn in blocks: sixteen calls of the generator per ULID would cost more than the ULID. */
const POOL_BYTES = 4096;

/** A draw is an unsigned 32-bit number. */
const DRAW_RANGE = 2 ** 32;

export function systemRandomness(): Randomness {
  const ulid = monotonicFactory(pooledFractions());
  return {
    ulid: () => ulid(),
    secret: (size) => randomBytes(size).toString('base64url'),
    // `randomInt` reads from a pool that Node fills: a number costs a tenth of a call of the generator.
    draws: (count) => Array.from({ length: count }, () => randomInt(DRAW_RANGE)),
  };
}

/** Each fraction takes one random byte, so it selects each of 32 characters with the same probability. */
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

export const sha256: Digest = (text) => hash('sha256', text, 'hex');

/**
 * A single call with a string as its result costs half as much as a Hash object with a separate buffer. A ledger has
 * millions of leaves and nodes.
 */
export const sha256Bytes: Hash = (bytes) => Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
