/**
 * The attributes that all cookies of pages share. The prefix `__Host-` binds a cookie to this host, over TLS (RFC
 * 6265bis §4.1.3.2). `Lax` lets it come along when the identity provider sends the browser back.
 */

import { createHmac } from 'node:crypto';
import { trimOws } from '../../../domain/trim-ows.ts';

export const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** 32 bytes in base64url. */
export const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** Every write of a session carries this token: the page shows it, and another site cannot read it. */
export function formTokenOf(sessionSecret: string): string {
  return createHmac('sha256', sessionSecret).update('form token').digest('base64url');
}

/** The secret in the cookie. `undefined` without the cookie, with two of them, or with one of another form. */
export function secretCookie(cookies: string | undefined, name: string): string | undefined {
  const value = onlyCookie(cookies, name);
  return value !== undefined && SECRET.test(value) ? value : undefined;
}

/** Two cookies of one name may be another site's attempt to replace one, so neither counts. */
export function onlyCookie(cookies: string | undefined, name: string): string | undefined {
  const values = cookieValues(cookies, name);
  return values.length === 1 ? values[0] : undefined;
}

export function cookieValues(cookies: string | undefined, name: string): readonly string[] {
  return (cookies ?? '').split(';').flatMap((pair) => {
    const [cookie = '', ...value] = trimOws(pair).split('=');
    return cookie === name ? [value.join('=')] : [];
  });
}
