/** The patterns of routes in the guard's file: a method and a path, `GET /issues/*`. */

import { isPlainPath } from './request-target.ts';

export interface RouteMatch {
  /** The pattern as written. It is the route's name in events. */
  readonly pattern: string;
  readonly method: string;
  /** The whole path, or the beginning of every path that matches. Its escapes have upper-case digits. */
  readonly path: string;
  /** Whether the pattern ends in `*`, which stands for at least one character. */
  readonly isPrefix: boolean;
}

const PATTERN = /^([A-Z]+(?:-[A-Z]+)*) (\/[^*]*)(\*?)$/;

/** @returns `undefined` if the text is no pattern */
export function readRouteMatch(pattern: string): RouteMatch | undefined {
  const [, method, path, star] = PATTERN.exec(pattern) ?? [];
  if (method === undefined || path === undefined) return undefined;
  const isPrefix = star === '*';
  if (!isPlainPath(path) || (isPrefix && !path.endsWith('/'))) return undefined;
  return { pattern, method, path: comparable(path), isPrefix };
}

/** Why the text is no pattern, worded to follow the field's name; `undefined` if it is one. */
export function routeMatchProblem(pattern: string): string | undefined {
  if (readRouteMatch(pattern) !== undefined) return undefined;
  const [, path] = /^[A-Z]+(?:-[A-Z]+)* (\/.*)$/s.exec(pattern) ?? [];
  if (path === undefined) return 'must be an upper-case method, one space and a path, as in GET /issues/*';
  if (/[?#]/.test(path)) return 'must have no query and no fragment: a pattern is compared with the path only';
  if (/[{}<>]/.test(path)) return 'must have no names in braces: only * at the end, after a slash, stands for any rest';
  if (/\*./s.test(path) || /[^/]\*$/.test(path))
    return 'must have * only at its end, after a slash, as in GET /issues/*';
  if (/[^!-~]/.test(path))
    return 'must have a path in ASCII without spaces: percent-encode all other characters in UTF-8';
  return 'must have a path that servers do not rewrite: without //, dot segments and escapes that are not needed';
}

/** @param path of `pathOfTarget`, as `comparable` returns it */
export function matchesRoute(match: RouteMatch, method: string, path: string): boolean {
  return match.method === method && covers(match, path);
}

/** Whether some request matches both. */
export function overlaps(one: RouteMatch, other: RouteMatch): boolean {
  if (one.method !== other.method) return false;
  if (one.isPrefix && other.isPrefix) return one.path.startsWith(other.path) || other.path.startsWith(one.path);
  return one.isPrefix ? covers(one, other.path) : covers(other, one.path);
}

function covers({ path, isPrefix }: RouteMatch, asked: string): boolean {
  return isPrefix ? asked.length > path.length && asked.startsWith(path) : asked === path;
}

/** RFC 3986 §6.2.2.1: the digits of an escape have no case. Everything else of a path has. */
export function comparable(path: string): string {
  return path.replaceAll(/%../g, (octet) => octet.toUpperCase());
}
