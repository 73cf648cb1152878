/** The cookies of the page `/me`. */

import { RESUME_MAX_AGE_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import { signInCookies } from '../browser/sign-in-cookies.ts';

export const meCookies = signInCookies(
  { session: '__Host-mandate-me', signIn: '__Host-mandate-sign-in' },
  { me: { path: '/me' }, resume: { path: '/me/resume', maxAge: RESUME_MAX_AGE_SECONDS } },
);
