/**
 * The request that a gateway asks about. In the mode `decide` the gateway names its method and target in a pair of headers.
 * Caddy and Traefik send one pair, nginx the other.
 */

import { headerValues } from '../core/raw-headers.ts';
import { pathOfTarget } from './request-target.ts';

interface OriginalRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

/** The names in lower case: of the method, then of the target. */
const PAIRS = [
  ['x-forwarded-method', 'x-forwarded-uri'],
  ['x-original-method', 'x-original-uri'],
] as const;

/** RFC 9110 §9.1: a method is a token, and its case counts. */
const METHOD = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/;

/**
 * A client can send the headers of the other gateway. So a half pair is refused, and two pairs must agree.
 *
 * @param rawHeaders Node's `IncomingMessage.rawHeaders`: `headers` joins or drops the second of two
 * @returns `undefined` if the headers are missing, doubled, malformed, or contradict each other
 */
export function originalRequest(rawHeaders: readonly string[]): OriginalRequest | undefined {
  const pairs = PAIRS.map((names) => names.map((name) => headerValues(rawHeaders, name))).filter((pair) =>
    pair.some((values) => values.length > 0),
  );
  const requests = pairs.map(([methods = [], targets = []]) => readPair(methods, targets));
  const [first, second] = requests;
  if (requests.includes(undefined) || first === undefined) return undefined;
  if (second !== undefined && (second.method !== first.method || second.target !== first.target)) return undefined;
  const path = pathOfTarget(first.target);
  return path === undefined ? undefined : { method: first.method, path };
}

interface NamedRequest {
  readonly method: string;
  readonly target: string;
}

function readPair(methods: readonly string[], targets: readonly string[]): NamedRequest | undefined {
  const [[method, ...moreMethods], [target, ...moreTargets]] = [methods, targets];
  if (method === undefined || target === undefined || moreMethods.length > 0 || moreTargets.length > 0)
    return undefined;
  return METHOD.test(method) ? { method, target } : undefined;
}
