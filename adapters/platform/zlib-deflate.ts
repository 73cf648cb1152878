/** Compression by node:zlib, in its thread pool. */

import { promisify } from 'node:util';
import { constants, deflate } from 'node:zlib';
import type { Deflate } from '../../application/ports/runtime.ts';

const inThreadPool = promisify<Uint8Array, { readonly strategy: number }, Buffer>(deflate);

/**
 * Only runs of one byte are compressed. In a list most statuses are 0 and the others are scattered, so the search for other
 * repetitions takes up to 30 times as long, and saves at most a tenth. The draft on status lists recommends the best level
 * (§4.1), which means small lists.
 */
export const zlibDeflate: Deflate = (bytes) => inThreadPool(bytes, { strategy: constants.Z_RLE });
