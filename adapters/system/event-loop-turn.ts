import type { Turn } from '../../application/ports/runtime.ts';

/** Resolves after one turn of the event loop, so that waiting requests are read first. */
export const eventLoopTurn: Turn = () => new Promise((resolve) => setImmediate(resolve));
