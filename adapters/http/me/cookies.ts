/** The cookies of the page `/me`. */

import { type ApprovalId, parseApprovalId } from '../../../domain/identifiers.ts';
import { RESUME_MAX_AGE_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import { fixedPlaces, type Places, signInCookies } from '../browser/sign-in-cookies.ts';

const NAMES = { session: '__Host-mandate-me', signIn: '__Host-mandate-sign-in' } as const;

const PLACES = fixedPlaces({ me: { path: '/me' }, resume: { path: '/me/resume', maxAge: RESUME_MAX_AGE_SECONDS } });

export const meCookies = signInCookies(NAMES, PLACES);

/** Before the id of an approval: the person must have signed in lately enough to say yes. */
const FRESH = 'fresh-';

export type FreshPlace = `${typeof FRESH}${ApprovalId}`;
export type MePlace = 'me' | 'resume' | ApprovalId | FreshPlace;

/** @param path after that of the issuer */
export function approvalAddress(approvalId: ApprovalId): string {
  return `/me/approvals/${approvalId}`;
}

/** The address of a sign-in that leads to the page of the approval. @param kind `fresh`: for a yes */
export function approvalSignIn(approvalId: ApprovalId, kind: 'any' | 'fresh'): string {
  const place: MePlace = kind === 'any' ? approvalId : `${FRESH}${approvalId}`;
  return `/me/sign-in?to=${place}`;
}

export function isFreshPlace(place: MePlace): place is FreshPlace {
  return place.startsWith(FRESH);
}

export function approvalOf(place: FreshPlace): ApprovalId {
  return idIn(place) as ApprovalId;
}

/** The same cookies, where a sign-in may also lead to the page of an approval. @param maxAge of a yes, in seconds */
export function meCookiesWithApprovals(maxAge: number) {
  const places: Places<MePlace> = {
    has: (name): name is MePlace => PLACES.has(name) || parseApprovalId(idIn(name)) !== undefined,
    of(name) {
      if (PLACES.has(name)) return PLACES.of(name);
      const path = approvalAddress(idIn(name) as ApprovalId);
      return isFreshPlace(name) ? { path, maxAge } : { path };
    },
  };
  return signInCookies<MePlace>(NAMES, places);
}

function idIn(name: string): string {
  return name.startsWith(FRESH) ? name.slice(FRESH.length) : name;
}
