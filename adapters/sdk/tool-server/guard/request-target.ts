/**
 * Reads the target of a request (RFC 9112 §3.2.1, origin form). The guard compares its path with patterns, and another
 * program answers it. Both must see one path. So the guard refuses a target that some servers rewrite before they choose a
 * route. Every accepted path stays as it was sent.
 */

/** RFC 3986 §3.3: the characters of a path. A URL parser escapes or replaces any other, for example a backslash. */
const PATH = /^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9a-f]{2})*$/i;
/** Printable ASCII without `#`, which would begin a fragment: a target has none. */
const QUERY = /^[!-"$-~]*$/;

/**
 * Escapes that servers decode before they choose a route: of a slash, of a backslash, of a control character, and of an
 * unreserved character (RFC 3986 §2.3: the escape and the character are the same path).
 */
const DECODED_EARLY = /%(?:2f|5c|[01][0-9a-f]|7f|2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i;

/** An empty segment before another one, and a dot segment. Some servers drop `;parameters` first, escaped or not. */
const REWRITTEN_SEGMENT = /\/(?:(?:;|%3b)[^/]*)?\/|\/\.{1,2}(?:[/;]|%3b|$)/i;

/** @returns the path without the query, as it was sent; `undefined` if the target is malformed */
export function pathOfTarget(target: string): string | undefined {
  const start = target.indexOf('?');
  const path = start < 0 ? target : target.slice(0, start);
  const query = start < 0 ? '' : target.slice(start + 1);
  return isPlainPath(path) && QUERY.test(query) ? path : undefined;
}

/** Whether every server reads this path alike. The paths of the guard's file keep the same rule. */
export function isPlainPath(path: string): boolean {
  return PATH.test(path) && !DECODED_EARLY.test(path) && !REWRITTEN_SEGMENT.test(path) && isUtf8(path);
}

/** A careless decoder reads some other bytes as ASCII: `%c0%ae` as a dot. */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
