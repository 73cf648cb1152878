/** Reads Node's `rawHeaders`: alternating names and values. Node's `headers` joins or drops the second of two. */

/** @param name in lower case */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}
