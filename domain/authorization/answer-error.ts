/** The OAuth error with which a way at the authorization endpoint ends (RFC 6749 §4.1.2.1, RFC 8707 §2). */

import { type DenialReason, describeDenial, type OAuthError } from '../denial.ts';
import type { SignInDenial } from '../sign-in-denial.ts';

const OF_SIGN_IN: Readonly<Record<SignInDenial, OAuthError>> = {
  provider_unavailable: 'temporarily_unavailable',
  provider_unreadable: 'server_error',
  client_refused: 'server_error',
  sign_in_dpop_demanded: 'server_error',
  sign_in_cancelled: 'access_denied',
  login_required: 'access_denied',
  sign_in_superseded: 'access_denied',
  sign_in_code_refused: 'access_denied',
  sign_in_answer_refused: 'server_error',
  id_token_refused: 'server_error',
  account_refused: 'access_denied',
  sign_in_undated: 'access_denied',
  sign_in_too_old: 'access_denied',
};

export function isSignInDenial(reason: DenialReason | SignInDenial): reason is SignInDenial {
  return Object.hasOwn(OF_SIGN_IN, reason);
}

export function answerError(reason: DenialReason | SignInDenial): OAuthError {
  if (isSignInDenial(reason)) return OF_SIGN_IN[reason];
  if (reason === 'client_not_public') return 'unauthorized_client';
  if (reason === 'subject_logged_out') return 'access_denied';
  const { error } = describeDenial(reason);
  // These two are errors of the token endpoint. Here the token is the provider's, and the client can do nothing about it.
  return error === 'invalid_grant' || error === 'invalid_client' ? 'server_error' : error;
}
