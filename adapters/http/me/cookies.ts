/** The cookies of the page `/me`. */

import { createHmac } from 'node:crypto';
import { RESUME_MAX_AGE_SECONDS } from '../../../application/me/pause.ts';
import type { SignInAttempt } from '../../../application/ports/identity-provider.ts';
import { ATTRIBUTES, onlyCookie, SECRET, secretCookie } from '../pages/cookies.ts';

const SESSION = '__Host-mandate-me';
const SIGN_IN = '__Host-mandate-sign-in';
/** Seconds: how long a sign-in may take. */
const SIGN_IN_TAKES = 600;

/** Where the browser goes after the sign-in, by the name in the request. No address is ever read from a request. */
const PLACES = { me: '/me', resume: '/me/resume' } as const;
export type Place = keyof typeof PLACES;

export function isPlace(name: string): name is Place {
  return Object.hasOwn(PLACES, name);
}

export function pathOfPlace(place: Place): string {
  return PLACES[place];
}

export interface BegunSignIn {
  readonly secret: string;
  readonly place: Place;
}

/** The values of a sign-in follow from its cookie, so that any replica can finish it and none stores it. */
export function attemptOf({ secret, place }: BegunSignIn): SignInAttempt {
  const derived = (use: string) => createHmac('sha256', secret).update(use).digest('base64url');
  return {
    state: derived('state'),
    nonce: derived('nonce'),
    codeVerifier: derived('code verifier'),
    maxAge: place === 'resume' ? RESUME_MAX_AGE_SECONDS : undefined,
  };
}

/** The secret of the session. `undefined` without the cookie, with two of them, or with one of another form. */
export function sessionSecret(cookies: string | undefined): string | undefined {
  return secretCookie(cookies, SESSION);
}

export function begunSignIn(cookies: string | undefined): BegunSignIn | undefined {
  const [place = '', secret = '', ...rest] = onlyCookie(cookies, SIGN_IN)?.split('.') ?? [];
  return isPlace(place) && SECRET.test(secret) && rest.length === 0 ? { place, secret } : undefined;
}

export const setCookie = {
  /** Without an age: the browser may forget it earlier than the service does. */
  session: (secret: string) => `${SESSION}=${secret}; ${ATTRIBUTES}`,
  noSession: `${SESSION}=; Max-Age=0; ${ATTRIBUTES}`,
  signIn: ({ place, secret }: BegunSignIn) => `${SIGN_IN}=${place}.${secret}; Max-Age=${SIGN_IN_TAKES}; ${ATTRIBUTES}`,
  noSignIn: `${SIGN_IN}=; Max-Age=0; ${ATTRIBUTES}`,
} as const;
