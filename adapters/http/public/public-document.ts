/** Metadata and key sets: anyone may read them, scripts of any origin too (decisions "Sizes and forms nobody wrote down"). */

import type { Response } from 'express';

/** Shorter than any step of a key rotation, long enough to save most requests. */
const CACHE = 'public, max-age=300';

export function answerPublicDocument(response: Response, document: unknown): void {
  response.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': CACHE }).json(document);
}
