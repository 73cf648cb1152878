import type { Turn } from '../../application/ports/turn.ts';

/** Resolves after one round of the event loop: requests that have come in by then are read before. */
export const eventLoopTurn: Turn = () => new Promise((resolve) => setImmediate(resolve));
