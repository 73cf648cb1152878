/**
 * Shared Signals push: a transmitter reports an event about a person's account or sessions (specification "POST
 * /events").
 */

import type { UpstreamIssuers } from '../../domain/signals/event-subject.ts';
import {
  type EndingEvent,
  judgeSecurityEvent,
  type SecurityEventDenialReason,
} from '../../domain/signals/security-event.ts';
import { WITHOUT_EFFECT } from '../../domain/signals/without-effect.ts';
import { readProviderJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { applySecurityEvent, type SecurityEventVerdict } from '../decisions/apply-security-event.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';
import type { Decisions } from '../ports/decisions.ts';
import { type HeldPermit, type ProviderKeys, providerFault } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import { type Log, type Measurements, traceFields } from '../ports/telemetry.ts';

interface AcceptSecurityEvent {
  readonly decisions: Decisions;
  readonly transmitterKeys: Pick<ProviderKeys, 'verify'>;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
  readonly sharedTime: SharedTime;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly measurements: Pick<Measurements, 'signalWithoutEffect'> | undefined;
  /** `Service:Ssf:Audience`. */
  readonly audience: string;
  /** The issuers of the identity provider that issues the subject tokens. */
  readonly upstreamIssuers: (trace?: Trace, permit?: HeldPermit) => Promise<UpstreamIssuers>;
}

export type SecurityEventOutcome =
  | SecurityEventVerdict
  /** The service handles none of the token's events. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'refused'; readonly reason: SecurityEventDenialReason };

/**
 * A refusal is recorded as `signal.denied`. It names no person: a refused token's claims are not trusted.
 *
 * @param eventToken `undefined` if the request had no readable token
 * @throws StorageUnavailable
 */
export async function acceptSecurityEvent(
  service: AcceptSecurityEvent,
  eventToken: string | undefined,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<SecurityEventOutcome> {
  const outcome = await decide(service, eventToken, trace, permit);
  if (outcome.kind === 'refused') {
    await service.anonymous.record({ event: 'signal.denied', reason: outcome.reason }, trace);
  }
  return outcome;
}

async function decide(
  service: AcceptSecurityEvent,
  eventToken: string | undefined,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<SecurityEventOutcome> {
  const { decisions, transmitterKeys, clock, sharedTime, audience, upstreamIssuers } = service;

  // 1. The transmitter signed the token.
  const jws = eventToken === undefined ? undefined : readProviderJws(eventToken);
  if (jws === undefined) return { kind: 'refused', reason: 'ssf_malformed' };
  const signature = await transmitterKeys.verify(jws, trace, permit);
  if (signature.kind !== 'verified') {
    return { kind: 'refused', reason: `ssf_${providerFault(signature.kind)}` };
  }

  // 2. Its events are for this stream, recent, and about one person of the identity provider.
  const { issuer } = signature;
  const known = { upstream: await upstreamIssuers(trace, permit), latest: await sharedTime.latest() };
  const expected = { issuer, audience, ...known, now: clock.now() };
  const verdict = judgeSecurityEvent(jws, expected);
  if (verdict.kind === 'refused') return verdict;
  const { jti, forgetAt, action, endings } = verdict;
  if (action === undefined) return { kind: 'ignored' };

  // 3. Apply it once: the transaction that applies it also stores the jti.
  const at = await sharedTime.earliest();
  const result = await decisions.decide(applySecurityEvent, { issuer, jti, forgetAt, at, action });
  if (result.kind === 'outdated') {
    const message = 'an account-enabled event is older than the block that it would lift, and was passed over';
    service.log.info(message, traceFields(trace));
  }
  if (result.kind === 'nothing_ended') await sayThatNothingEnded(service, endings, trace);
  return result;
}

const NOTHING_ENDED =
  'a security event names no person who is known here, or a session: nothing ended (further ones are only counted for a while)';

/** One record for each event, which is anonymous. The log has a warning only with a record: one in a window, as for denials. */
async function sayThatNothingEnded(
  { anonymous, log, measurements }: AcceptSecurityEvent,
  endings: readonly EndingEvent[],
  trace: Trace | undefined,
): Promise<void> {
  measurements?.signalWithoutEffect('ssf');
  for (const { type, format } of endings) {
    const detail = JSON.stringify({ type, format });
    const recording = anonymous.record({ event: 'sponsor.signal', reason: WITHOUT_EFFECT.ssf, detail }, trace);
    if (recording === undefined) continue;
    log.warn(NOTHING_ENDED, { type, format, ...traceFields(trace) });
    await recording;
  }
}
