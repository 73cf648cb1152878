/** Creates unpredictable values, hashes and encrypts with node:crypto. */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPublicKey,
  hash,
  randomBytes,
  randomFillSync,
  randomInt,
} from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Digest, Hash, Randomness, Sealing } from '../../application/ports/runtime.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';

/** Random bytes are drawn in blocks: a call of the generator costs more than a ULID, or than the text of a secret. */
const POOL_BYTES = 4096;

/** A draw is an unsigned 32-bit number. */
const DRAW_RANGE = 2 ** 32;

export function systemRandomness(): Randomness {
  const take = randomPool();
  // Each fraction takes one random byte, so it selects each of 32 characters with the same probability.
  const ulid = monotonicFactory(() => (take(1)[0] ?? 0) / 256);
  return {
    ulid: () => ulid(),
    secret(size) {
      const bytes = take(size);
      const secret = bytes.toString('base64url');
      // The pool stays in memory. It must not keep secrets that were given out.
      bytes.fill(0);
      return secret;
    },
    // `randomInt` reads from a pool that Node fills: a number costs a tenth of a call of the generator.
    draws: (count) => Array.from({ length: count }, () => randomInt(DRAW_RANGE)),
  };
}

/** Takes the next bytes of the pool, each once. @param size at most POOL_BYTES */
function randomPool(): (size: number) => Buffer {
  const pool = Buffer.alloc(POOL_BYTES);
  let next = POOL_BYTES;
  return (size) => {
    if (size > POOL_BYTES) throw new RangeError('the pool has fewer random bytes');
    if (next + size > POOL_BYTES) {
      randomFillSync(pool);
      next = 0;
    }
    next += size;
    return pool.subarray(next - size, next);
  };
}

export const sha256: Digest = (text) => hash('sha256', text, 'hex');

/**
 * A single call with a string as its result costs half as much as a Hash object with a separate buffer. A ledger has
 * millions of leaves and nodes.
 */
export const sha256Bytes: Hash = (bytes) => Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');

/** Whether the point of an EC key is on its curve. */
export function isOnCurve({ kty, crv = '', x = '', y = '' }: Jwk): boolean {
  try {
    createPublicKey({ format: 'jwk', key: { kty, crv, x, y } });
    return true;
  } catch {
    return false;
  }
}

const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D §5.2.1.1, §5.2.1.2. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The sealed text is nonce, tag and ciphertext in base64url. */
export const sealing: Sealing = {
  seal(secret, text) {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, sealingKey(secret), nonce, { authTagLength: TAG_BYTES });
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
  },
  open(secret, sealed) {
    const bytes = Buffer.from(sealed, 'base64url');
    const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
    try {
      const cipher = createDecipheriv(CIPHER, sealingKey(secret), nonce, { authTagLength: TAG_BYTES }).setAuthTag(tag);
      return cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + cipher.final('utf8');
    } catch {
      // Node throws if the tag does not fit.
      return undefined;
    }
  },
};

/** Derives the key, because the secret serves other purposes: its hash is stored, and the form token is derived from it. */
function sealingKey(secret: string): Buffer {
  return createHmac('sha256', secret).update('sealing key').digest();
}
