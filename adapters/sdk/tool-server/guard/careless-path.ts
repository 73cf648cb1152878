/**
 * Normalizes a path as the most careless server would. Such a server can serve one route for two paths. The result:
 *
 * - is decoded until nothing changes, and in lower case;
 * - has no parameters, no query and no fragment;
 * - has no dots, spaces or names of NTFS streams at the end of a segment (Windows), and no empty segments.
 */

import { folded } from '../core/lookalikes.ts';

/** Far more rounds than any server decodes. */
const MAX_DECODED = 16;

/**
 * @param path of `pathOfTarget`, or of the guard's file
 * @returns without a slash at its end; `undefined` if it is escaped more often than `MAX_DECODED`
 */
export function carelessPath(path: string): string | undefined {
  const decoded = decodedWhole(path);
  if (decoded === undefined) return undefined;
  const [read = ''] = folded(decoded.replaceAll('\\', '/')).split(/[?#]/, 1);
  const segments: string[] = [];
  for (const segment of read.split('/')) {
    const [named = ''] = segment.split(';', 1);
    const plain = withoutStream(named.trimEnd());
    if (plain === '..') segments.pop();
    else segments.push(withoutDotsAtEnd(plain));
  }
  return segments
    .filter((segment) => segment !== '')
    .map((segment) => `/${segment}`)
    .join('');
}

/** Some servers decode twice: `%2561` becomes `%61`, and then `a`. */
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

/** Escaped octets that are not UTF-8 stay. Old Microsoft servers decode `%uXXXX`. */
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

/** NTFS names the data of the file `pay` also `pay::$DATA`, and a folder `pay::$INDEX_ALLOCATION`. */
function withoutStream(segment: string): string {
  const at = segment.indexOf('::$');
  return at < 0 ? segment : segment.slice(0, at).trimEnd();
}

/** Windows ignores them. A loop, because the pattern `[. ]+$` takes time by the square of the length of a run. */
function withoutDotsAtEnd(segment: string): string {
  let end = segment.length;
  while (end > 0 && /[.\s]/.test(segment.charAt(end - 1))) end -= 1;
  return segment.slice(0, end);
}
