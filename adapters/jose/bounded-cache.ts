/** What was found out before, as much of it as `limit` entries hold: what was not asked for the longest goes first. */
export interface BoundedCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

export function boundedCache<Value>(limit: number): BoundedCache<Value> {
  // A Map iterates in the order of insertion: taking an entry out and in again moves it to the young end.
  const entries = new Map<string, Value>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) {
        entries.delete(key);
        entries.set(key, value);
      }
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      const [eldest] = entries.keys();
      if (entries.size > limit && eldest !== undefined) entries.delete(eldest);
    },
  };
}
