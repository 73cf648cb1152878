/**
 * An issuer with a path, such as `https://example.com/mandate` (RFC 8414 §3.1). The
 * service answers under that path as it does without it, so every advertised URL works whether or not a proxy in front
 * strips the path.
 */

import { firstSegments } from './routes.ts';

/** RFC 8414 §3.1: the issuer's path comes after the well-known one. */
const METADATA = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/** From a request target (path and query) to the same target without the issuer's path. */
export type WithoutIssuerPath = (target: string) => string;

/** Without a slash at its end; empty where the issuer has no path. */
export function issuerPath(issuer: string): string {
  return new URL(issuer).pathname.replace(/\/+$/, '');
}

/** Applied once, in front of measurements, admission and routing, so that all of them see the same path. */
export function withoutIssuerPath(issuer: string): WithoutIssuerPath {
  const prefix = issuerPath(issuer);
  if (prefix === '') return (target) => target;
  const inserted = new Map(METADATA.map((path) => [`${path}${prefix}`, path]));
  return (target) => {
    const query = target.indexOf('?');
    const path = query === -1 ? target : target.slice(0, query);
    const metadata = inserted.get(path);
    if (metadata !== undefined) return `${metadata}${target.slice(path.length)}`;
    // An issuer's path may begin with a segment of ours: under `/oauth2`, `/oauth2/token` stays what it is.
    const rest = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
    const isOurs = rest !== undefined && firstSegments.has(rest.split('/', 2)[1] ?? '');
    return isOurs ? target.slice(prefix.length) : target;
  };
}
