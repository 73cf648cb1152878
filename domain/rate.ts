/** The rate of a token bucket (specification "Rate limiting"). */

export interface Rate {
  readonly permitsPerMinute: number;
}

/** Specification: rounded up. */
export function permitsPerSecond({ permitsPerMinute }: Rate): number {
  return Math.ceil(permitsPerMinute / 60);
}
