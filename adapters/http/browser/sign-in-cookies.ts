/** The cookies of a sign-in and of its session, under the names of one set of pages. */

import { createHmac } from 'node:crypto';
import type { SignInAttempt } from '../../../application/ports/identity-provider.ts';
import { ATTRIBUTES, cookieValues, onlyCookie, SECRET, secretCookie } from './cookies.ts';

/** Seconds: how long a sign-in may take. */
const SIGN_IN_TAKES = 600;

/** Where the browser goes after the sign-in, by the name in the request. No address is ever read from a request. */
export interface Place {
  readonly path: string;
  /** Seconds since the person last proved who they are, at most; `undefined` if that does not matter. */
  readonly maxAge?: number;
  /** Whether the provider asks who the person is, although it may know one of this browser. */
  readonly asksWho?: boolean;
}

/** The places of one set of pages. */
export interface Places<Name extends string> {
  has(name: string): name is Name;
  of(name: Name): Place;
}

export function fixedPlaces<Name extends string>(places: Readonly<Record<Name, Place>>): Places<Name> {
  return { has: (name): name is Name => Object.hasOwn(places, name), of: (name) => places[name] };
}

interface BegunSignIn<Name extends string> {
  readonly secret: string;
  readonly place: Name;
}

export interface SignInCookies<Name extends string> {
  /** The name of the session's cookie. */
  readonly sessionName: string;
  readonly places: Places<Name>;
  /** The values of a sign-in follow from its cookie, so that any replica can finish it and none stores it. */
  attemptOf(begun: BegunSignIn<Name>): SignInAttempt;
  /** The secret of the session. `undefined` without a usable cookie. */
  sessionSecret(cookies: string | undefined): string | undefined;
  /** Whether the browser sent the cookie of a session, in any form. */
  hasSession(cookies: string): boolean;
  /**
   * Whether the browser sent several cookies of a session. The service then accepts none of them. A new sign-in would only
   * add one more cookie, so the service must not send the browser to it.
   */
  hasSeveralSessions(cookies: string | undefined): boolean;
  begunSignIn(cookies: string | undefined): BegunSignIn<Name> | undefined;
  readonly set: {
    session(secret: string): string;
    readonly noSession: string;
    signIn(begun: BegunSignIn<Name>): string;
    readonly noSignIn: string;
  };
}

/** A value of a sign-in, which follows from the secret of its cookie. */
export function derivedFrom(secret: string, use: 'state' | 'nonce' | 'code verifier'): string {
  return createHmac('sha256', secret).update(use).digest('base64url');
}

/** @param names of the cookies. They begin with `__Host-` (cookies.ts) */
export function signInCookies<Name extends string>(
  names: { readonly session: `__Host-${string}`; readonly signIn: `__Host-${string}` },
  places: Places<Name>,
): SignInCookies<Name> {
  return {
    sessionName: names.session,
    places,
    attemptOf({ secret, place }) {
      return {
        state: derivedFrom(secret, 'state'),
        nonce: derivedFrom(secret, 'nonce'),
        codeVerifier: derivedFrom(secret, 'code verifier'),
        maxAge: places.of(place).maxAge,
        ...(places.of(place).asksWho === true && { asksWho: true }),
      };
    },
    sessionSecret: (cookies) => secretCookie(cookies, names.session),
    hasSession: (cookies) => cookieValues(cookies, names.session).length > 0,
    hasSeveralSessions: (cookies) => cookieValues(cookies, names.session).length > 1,
    begunSignIn(cookies) {
      const [place = '', secret = '', ...rest] = onlyCookie(cookies, names.signIn)?.split('.') ?? [];
      return places.has(place) && SECRET.test(secret) && rest.length === 0 ? { place, secret } : undefined;
    },
    set: {
      // The cookie has no age: the browser may forget it earlier than the service does.
      session: (secret) => `${names.session}=${secret}; ${ATTRIBUTES}`,
      noSession: `${names.session}=; Max-Age=0; ${ATTRIBUTES}`,
      signIn: ({ place, secret }) => `${names.signIn}=${place}.${secret}; Max-Age=${SIGN_IN_TAKES}; ${ATTRIBUTES}`,
      noSignIn: `${names.signIn}=; Max-Age=0; ${ATTRIBUTES}`,
    },
  };
}
