/** Why a sign-in failed, by the error of the library for sign-ins and the answer of the provider. */

import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { unmetDemands } from '../../domain/sessions/provider-demands.ts';
import type { SignInDenial } from '../../domain/sign-in-denial.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import { repeatsAny } from './error-code.ts';
import type { SignInClient } from './sign-in-client.ts';
import type { LibraryRequest } from './through-network.ts';
import { CODE_ERRORS, isPassing, PASSING_ERRORS } from './token-endpoint.ts';

/** Fields of a refusal's log line, in addition to its reason. */
export interface Why {
  /** The first check that failed. */
  readonly fault?: string;
  /** The library's code. */
  readonly code?: string | undefined;
  /** The provider's own error code. */
  readonly error?: string | undefined;
  /** The status of the provider's answer. */
  readonly status?: number | undefined;
  /** Members of the provider's metadata that demand what this service does not do. */
  readonly demands?: string | undefined;
}

/** The provider was not to ask the person, or did not (OpenID Connect Core 1.0 §3.1.2.6). */
const UNASKED = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required'];

/** @param request the request that failed, or was not sent because the browser came back with an error */
export function explainFailure(
  error: unknown,
  request: LibraryRequest,
  { clientSecret, pushedAuthorization }: SignInClient,
  document: JsonObject,
): { readonly reason: SignInDenial; readonly why: Why } {
  const reason = reasonOf(error, request);
  const said = wordOf(error, 'error');
  const isSecret = said !== undefined && repeatsAny(said, [clientSecret?.reveal() ?? '', ...request.secrets()]);
  const demands = reason === 'client_refused' ? unmetDemands(document, pushedAuthorization) : [];
  const why = {
    code: wordOf(error, 'code'),
    error: isSecret ? undefined : said,
    status: request.answer()?.status,
    demands: demands.length === 0 ? undefined : demands.map(({ member }) => member).join(' '),
  };
  return { reason, why };
}

function reasonOf(error: unknown, request: LibraryRequest): SignInDenial {
  if (error instanceof AuthorizationResponseError) {
    if (PASSING_ERRORS.includes(error.error)) return 'provider_unavailable';
    if (UNASKED.includes(error.error)) return 'login_required';
    return error.error === 'access_denied' ? 'sign_in_cancelled' : 'client_refused';
  }
  const failure = request.failure();
  if (failure !== undefined) {
    const isBusy = !failure.answered || isPassing(failure.status);
    return isBusy ? 'provider_unavailable' : 'provider_unreadable';
  }
  const status = request.answer()?.status;
  // Nothing was sent: the library refused the return address.
  if (status === undefined) return 'sign_in_answer_refused';
  if (isPassing(status)) return 'provider_unavailable';
  if (request.demandsDpop()) return 'sign_in_dpop_demanded';
  if (error instanceof ResponseBodyError) {
    if (PASSING_ERRORS.includes(error.error)) return 'provider_unavailable';
    return CODE_ERRORS.includes(error.error) ? 'sign_in_code_refused' : 'client_refused';
  }
  // A provider may refuse a client without a word.
  return status === 401 || status === 403 ? 'client_refused' : 'provider_unreadable';
}

/** A code of OAuth or of the library. Other text of the provider is not logged. */
function wordOf(error: unknown, name: 'code' | 'error'): string | undefined {
  const value = error instanceof Error ? (error as Error & Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(value) ? value : undefined;
}
