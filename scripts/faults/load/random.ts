/** Random choices that a seed repeats. */

export interface Random {
  /** From 0 up to, and without, 1. */
  next(): number;
  /** A whole number from 0 up to, and without, the limit. */
  below(limit: number): number;
}

/** Mulberry32: what it is random for is only that no two runs of different seeds do the same. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, below: (limit) => Math.floor(next() * limit) };
}
