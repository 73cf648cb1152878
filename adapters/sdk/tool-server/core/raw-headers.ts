/** Node's `rawHeaders`: alternating names and values. Node's `headers` joins or drops the second of two. */

import type { IncomingMessage } from 'node:http';

/** @param name in lower case */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** Replaces the value in both forms of the headers. @param name in lower case */
export function replaceHeader({ headers, rawHeaders }: IncomingMessage, name: string, value: string): void {
  headers[name] = value;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) rawHeaders[at + 1] = value;
}
