/** The cookies of the page `/me`. */

import { type ApprovalId, parseApprovalId } from '../../../domain/identifiers.ts';
import { RESUME_MAX_AGE_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import { flashCookie } from '../browser/flash.ts';
import { fillPath } from '../browser/paths.ts';
import { fixedPlaces, type Places, signInCookies } from '../browser/sign-in-cookies.ts';
import { noticeKinds } from './view.ts';

const NAMES = { session: '__Host-mandate-me', signIn: '__Host-mandate-sign-in' } as const;

export const DELEGATION_PATH = '/me/delegation';

const PLACES = fixedPlaces({
  me: { path: '/me' },
  other: { path: '/me', asksWho: true },
  resume: { path: '/me/resume', maxAge: RESUME_MAX_AGE_SECONDS },
});
/** With `Service:Delegation:Enabled`: the person must have signed in lately to let an agent hand work over again. */
const DELEGATION_PLACES = fixedPlaces({ delegation: { path: DELEGATION_PATH, maxAge: RESUME_MAX_AGE_SECONDS } });

export const noticeCookie = flashCookie('__Host-mandate-notice', noticeKinds);

export const meCookies = signInCookies(NAMES, PLACES);

/** Before the id of an approval: the person must have signed in lately enough to say yes. */
const FRESH = 'fresh-';

/** Precedes the id of an approval: the person wants to use another account. */
const OTHER = 'other-';

type FreshPlace = `${typeof FRESH}${ApprovalId}`;
type ApprovalPlace = ApprovalId | FreshPlace | `${typeof OTHER}${ApprovalId}`;
export type MePlace = 'me' | 'other' | 'resume' | 'delegation' | ApprovalPlace;

/** The sign-in that leads to `/me`. */
export const SIGN_IN = '/me/sign-in';
/** The sign-in at which the provider asks for the account. */
export const SIGN_IN_AS_ANOTHER = `${SIGN_IN}?to=other`;
export const DELEGATION_SIGN_IN = `${SIGN_IN}?to=delegation`;
export const APPROVAL_PATH = '/me/approvals/:approvalId';

/** The path after the issuer's. */
export function approvalAddress(approvalId: ApprovalId): string {
  return fillPath(APPROVAL_PATH, { approvalId });
}

/**
 * The address of a sign-in that leads to the page of the approval.
 *
 * @param kind `fresh`: a yes needs a new sign-in; `other`: the person wants to use another account
 */
export function approvalSignIn(approvalId: ApprovalId, kind: 'any' | 'fresh' | 'other'): string {
  const places: Readonly<Record<typeof kind, MePlace>> = {
    any: approvalId,
    fresh: `${FRESH}${approvalId}`,
    other: `${OTHER}${approvalId}`,
  };
  return `${SIGN_IN}?to=${places[kind]}`;
}

export function isFreshPlace(place: MePlace): place is FreshPlace {
  return place.startsWith(FRESH);
}

export function approvalOf(place: FreshPlace): ApprovalId {
  return idIn(place) as ApprovalId;
}

/** What else a sign-in may lead to. */
export interface FurtherPlaces {
  /** Seconds: how old the sign-in of a person who approves an action may be. `undefined` without approvals. */
  readonly maxAuthAge: number | undefined;
  /** `Service:Delegation:Enabled`. */
  readonly delegation: boolean;
}

/** The same cookies, with these places. */
export function meCookiesWith({ maxAuthAge, delegation }: FurtherPlaces) {
  const all: readonly Places<MePlace>[] = [
    PLACES,
    ...(delegation ? [DELEGATION_PLACES] : []),
    ...(maxAuthAge === undefined ? [] : [approvalPlaces(maxAuthAge)]),
  ];
  return signInCookies<MePlace>(NAMES, {
    has: (name): name is MePlace => all.some((places) => places.has(name)),
    of: (name) => all.find((places) => places.has(name))?.of(name) ?? PLACES.of('me'),
  });
}

/** The pages of approvals. @param maxAge of a yes, in seconds */
function approvalPlaces(maxAge: number): Places<ApprovalPlace> {
  return {
    has: (name): name is ApprovalPlace => parseApprovalId(idIn(name)) !== undefined,
    of(name) {
      const path = approvalAddress(idIn(name) as ApprovalId);
      if (isFreshPlace(name)) return { path, maxAge };
      return name.startsWith(OTHER) ? { path, asksWho: true } : { path };
    },
  };
}

function idIn(name: string): string {
  const prefix = [FRESH, OTHER].find((each) => name.startsWith(each)) ?? '';
  return name.slice(prefix.length);
}
