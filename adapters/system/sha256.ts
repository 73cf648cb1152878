import { createHash } from 'node:crypto';
import type { Digest } from '../../application/ports/digest.ts';

export const sha256: Digest = (text) => createHash('sha256').update(text, 'utf8').digest('hex');
