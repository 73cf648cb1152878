/** The sign-in of people at the page `/me`, relative to that path. */

import type { Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type SignInNotice, type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { issuerPath } from '../routes.ts';
import {
  approvalAddress,
  approvalOf,
  type FreshPlace,
  isFreshPlace,
  meCookies,
  meCookiesWithApprovals,
} from './cookies.ts';
import { answerFaults, answerNotice } from './notice.ts';
import type { MessageKind } from './texts/texts.ts';

export interface MeSignIn extends SignInSurface {
  readonly log: Log;
  /** Seconds: how old the sign-in of a person who approves an action may be. `undefined` without approvals. */
  readonly maxAuthAge: number | undefined;
}

export function meSignInRouter(surface: MeSignIn): Router {
  const { maxAuthAge } = surface;
  const base = issuerPath(surface.origin);
  const pages = { home: 'me', base, mount: '/me', faults: answerFaults(surface.log, base) } as const;
  if (maxAuthAge === undefined) {
    return signInRouter(surface, {
      ...pages,
      cookies: meCookies,
      say: (response, notice) => answerNotice(response, { ...notice, base }),
    });
  }
  return signInRouter(surface, {
    ...pages,
    cookies: meCookiesWithApprovals(maxAuthAge),
    say: (response, notice, place = 'me') =>
      answerNotice(response, { ...notice, ...(isFreshPlace(place) && ofApprover(notice.kind, place)), base }),
  });
}

/**
 * A sign-in that must be recent says for what. Where the provider does not say when a person signed in, another sign-in is of
 * no use: the link leads back to the question, because a no is still possible.
 */
function ofApprover(
  kind: SignInNotice<never>,
  place: FreshPlace,
): { readonly kind?: MessageKind; readonly to?: string } {
  if (kind === 'sign_in_undated') return { kind: 'approver_undated', to: approvalAddress(approvalOf(place)) };
  return kind === 'sign_in_too_old' ? { kind: 'approver_not_fresh' } : {};
}
