/**
 * Back-channel logout: the identity provider reports that a session, or all sessions of a person, ended (specification
 * "POST /backchannel-logout").
 */

import { plusSeconds } from '../../domain/instant.ts';
import { judgeLogoutToken, type LogoutDenialReason } from '../../domain/signals/logout-token.ts';
import { readCompactJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { logOut } from '../decisions/log-out.ts';
import type { SignalVerdict } from '../decisions/signal.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';
import type { Decisions } from '../ports/decisions.ts';
import { type ProviderKeys, providerFault } from '../ports/keys.ts';
import type { Clock } from '../ports/runtime.ts';

interface AcceptLogout {
  readonly decisions: Decisions;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
  /** `Service:UpstreamIdp:BackchannelLogout:Audience`. */
  readonly audience: string;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
}

/** The lifetime of the provider's access tokens is unknown. A token that lives longer than a day is accepted after it. */
const REMEMBERED_SECONDS = 24 * 60 * 60;

export type LogoutOutcome = SignalVerdict | { readonly kind: 'refused'; readonly reason: LogoutDenialReason };

/**
 * A refusal is recorded as `signal.denied`. It names no person: a refused token's claims are not trusted.
 *
 * @param logoutToken `undefined` if the request had no readable token
 * @throws StorageUnavailable
 */
export async function acceptLogout(
  service: AcceptLogout,
  logoutToken: string | undefined,
  trace?: Trace,
): Promise<LogoutOutcome> {
  const outcome = await decide(service, logoutToken, trace);
  if (outcome.kind === 'refused') {
    await service.anonymous.record({ event: 'signal.denied', reason: outcome.reason }, trace);
  }
  return outcome;
}

async function decide(
  service: AcceptLogout,
  logoutToken: string | undefined,
  trace: Trace | undefined,
): Promise<LogoutOutcome> {
  const { decisions, providerKeys, clock, audience, refuseLoggedOut } = service;

  // 1. The identity provider signed the token.
  const jws = logoutToken === undefined ? undefined : readCompactJws(logoutToken);
  if (jws === undefined) return { kind: 'refused', reason: 'logout_malformed' };
  const signature = await providerKeys.verify(jws, trace);
  if (signature.kind !== 'verified') {
    return { kind: 'refused', reason: `logout_${providerFault(signature.kind)}` };
  }

  // 2. It is a recent logout token for this service.
  const { issuer } = signature;
  const at = clock.now();
  const verdict = judgeLogoutToken(jws, { issuer, audience, now: at });
  if (verdict.kind === 'refused') return verdict;

  // 3. Apply it once: the transaction that ends the tasks also stores the jti and, if asked for, the logout.
  const { jti, forgetAt, loggedOut, issuedAt } = verdict;
  const remember = refuseLoggedOut ? { statedAt: issuedAt, forgetAt: plusSeconds(at, REMEMBERED_SECONDS) } : undefined;
  return decisions.decide(logOut, { issuer, jti, forgetAt, at, loggedOut, remember });
}
