/** The sign-in of people at the page `/me`, relative to that path. */

import type { Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type SignInMessage, type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { issuerPath } from '../routes.ts';
import {
  approvalAddress,
  approvalOf,
  isFreshPlace,
  type MePlace,
  meCookies,
  meCookiesWithApprovals,
  noticeCookie,
} from './cookies.ts';
import { answerFaults, answerMessage } from './message.ts';
import type { MessageKind } from './texts/en.ts';

export interface MeSignIn extends SignInSurface {
  readonly log: Log;
  /** Seconds: how old the sign-in of a person who approves an action may be. `undefined` without approvals. */
  readonly maxAuthAge: number | undefined;
}

export function meSignInRouter(surface: MeSignIn): Router {
  const { maxAuthAge } = surface;
  const base = issuerPath(surface.origin);
  return signInRouter<MePlace, never>(surface, {
    home: 'me',
    base,
    mount: '/me',
    cookies: maxAuthAge === undefined ? meCookies : meCookiesWithApprovals(maxAuthAge),
    say: (response, message, place) =>
      answerMessage(response, { ...message, ...ofApprover(message.kind, place), base }),
    greet(response, place) {
      if (isFreshPlace(place)) noticeCookie.give(response, { kind: 'signed_in', amount: 0, about: approvalOf(place) });
    },
    faults: answerFaults(surface.log, base),
  });
}

/**
 * A sign-in that must be recent says for what. Where the provider does not say when a person signed in, another sign-in is of
 * no use: the link leads back to the question, because a no is still possible.
 */
function ofApprover(
  kind: SignInMessage<never>,
  place: MePlace | undefined,
): { readonly kind?: MessageKind; readonly to?: string } {
  if (place === undefined || !isFreshPlace(place)) return {};
  if (kind === 'sign_in_undated') return { kind: 'approver_undated', to: approvalAddress(approvalOf(place)) };
  return kind === 'sign_in_too_old' ? { kind: 'approver_not_fresh' } : {};
}
