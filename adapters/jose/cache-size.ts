/**
 * The options of an `LRUCache` of at most so many entries, which takes memory as it fills. With `max` it would fill five arrays
 * of that length at once: a millisecond and 200 kB for 10,000 entries, at each start of the service and each command.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
