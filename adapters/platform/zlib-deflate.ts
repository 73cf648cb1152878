/** Compression by node:zlib, in its thread pool. */

import { promisify } from 'node:util';
import { constants, deflate } from 'node:zlib';
import type { Deflate } from '../../application/ports/runtime.ts';

const inThreadPool = promisify<Uint8Array, { readonly level: number }, Buffer>(deflate);

/** The draft on status lists recommends the best level (§4.1). */
export const zlibDeflate: Deflate = (bytes) => inThreadPool(bytes, { level: constants.Z_BEST_COMPRESSION });
