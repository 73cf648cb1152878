/**
 * A path as the most careless server compares it: decoded until nothing changes, without letter case, parameters, query and
 * fragment, without dots and spaces at the end of each segment (Windows), and without empty segments. Such a server can serve
 * one route for two paths.
 */

import { folded } from './lookalikes.ts';

/** Far more than a server does. */
const MAX_DECODED = 16;

/**
 * @param path of `pathOfTarget`, or of the guard's file
 * @returns without a slash at its end; `undefined` if it is escaped so often that nobody can mean it
 */
export function carelessPath(path: string): string | undefined {
  const decoded = decodedWhole(path);
  if (decoded === undefined) return undefined;
  const [read = ''] = folded(decoded.replaceAll('\\', '/')).split(/[?#]/, 1);
  const segments: string[] = [];
  for (const segment of read.split('/')) {
    const [named = ''] = segment.split(';', 1);
    const plain = named.trimEnd();
    if (plain === '..') segments.pop();
    else segments.push(withoutDotsAtEnd(plain));
  }
  return segments
    .filter((segment) => segment !== '')
    .map((segment) => `/${segment}`)
    .join('');
}

/** Decodes again and again: `%2561` is `%61`, and then `a`. Some servers decode twice. */
function decodedWhole(path: string): string | undefined {
  let text = path;
  for (let times = 0; times < MAX_DECODED; times += 1) {
    const next = decodedOnce(text);
    // Some servers read a plus sign as a space.
    if (next === text) return text.replaceAll('+', ' ');
    text = next;
  }
  return undefined;
}

/** The octets of an escape that are no UTF-8 stay. `%uXXXX` is that of old Microsoft servers. */
function decodedOnce(text: string): string {
  return text
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, decodedOctets);
}

function decodedOctets(octets: string): string {
  try {
    return decodeURIComponent(octets);
  } catch {
    return octets.replaceAll(/%[0-7][0-9a-f]/gi, (octet) => decodeURIComponent(octet));
  }
}

/** Windows ignores them. A loop: a pattern that ends in `[. ]+$` would search long runs again from each of their signs. */
function withoutDotsAtEnd(segment: string): string {
  let end = segment.length;
  while (end > 0 && /[.\s]/.test(segment.charAt(end - 1))) end -= 1;
  return segment.slice(0, end);
}
