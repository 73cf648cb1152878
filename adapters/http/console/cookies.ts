/** The cookies of the console. Cookies do not distinguish ports, so their names differ from those of the page `/me`. */

import { fixedPlaces, signInCookies } from '../browser/sign-in-cookies.ts';

export const consoleCookies = signInCookies(
  { session: '__Host-mandate-console', signIn: '__Host-mandate-console-sign-in' },
  fixedPlaces({ now: { path: '/' } }),
);
