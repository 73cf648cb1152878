import { createHash, hash } from 'node:crypto';
import type { Digest, Hash } from '../../application/ports/runtime.ts';

export const sha256: Digest = (text) => createHash('sha256').update(text, 'utf8').digest('hex');

/**
 * One call with a string result costs half as much as a Hash object with a separate buffer. A ledger has millions of
 * leaves and nodes.
 */
export const sha256Bytes: Hash = (bytes) => Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
