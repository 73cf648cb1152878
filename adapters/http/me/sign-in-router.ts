/** The sign-in of people at the page `/me`, relative to that path. */

import type { Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type SignInMessage, type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { issuerPath } from '../routes.ts';
import {
  approvalAddress,
  approvalOf,
  DELEGATION_PATH,
  type FurtherPlaces,
  isFreshPlace,
  type MePlace,
  meCookiesWith,
  noticeCookie,
} from './cookies.ts';
import { answerFaults, answerMessage } from './message.ts';
import type { MessageKind } from './texts/en.ts';

export interface MeSignIn extends SignInSurface, FurtherPlaces {
  readonly log: Log;
}

export function meSignInRouter(surface: MeSignIn): Router {
  const base = issuerPath(surface.origin);
  return signInRouter<MePlace, never>(surface, {
    home: 'me',
    base,
    mount: '/me',
    cookies: meCookiesWith(surface),
    say: (response, message, place) => answerMessage(response, { ...message, ...ofPurpose(message.kind, place), base }),
    greet(response, place) {
      if (isFreshPlace(place)) noticeCookie.give(response, { kind: 'signed_in', amount: 0, about: approvalOf(place) });
    },
    faults: answerFaults(surface.log, base),
  });
}

/**
 * A sign-in that must be recent says for what. Where the provider does not say when a person signed in, another sign-in is of
 * no use: the link leads back to the question, because a no is still possible, or to the page with the refusals.
 */
function ofPurpose(
  kind: SignInMessage<never>,
  place: MePlace | undefined,
): { readonly kind?: MessageKind; readonly to?: string } {
  if (place === 'delegation') {
    if (kind === 'sign_in_undated') return { kind: 'delegation_undated', to: DELEGATION_PATH };
    return kind === 'sign_in_too_old' ? { kind: 'delegation_not_fresh' } : {};
  }
  if (place === undefined || !isFreshPlace(place)) return {};
  if (kind === 'sign_in_undated') return { kind: 'approver_undated', to: approvalAddress(approvalOf(place)) };
  return kind === 'sign_in_too_old' ? { kind: 'approver_not_fresh' } : {};
}
