/**
 * Back-channel logout: the identity provider reports that a session, or all sessions of a person, ended (specification
 * "POST /backchannel-logout").
 *
 * The three files of this folder are the three signals about people. A logout and a security event
 * (accept-security-event.ts) come as signed tokens: the signature is verified, `domain/signals` checks the claims, and
 * one decision applies the signal once, with its record. A provisioning write (provision-user.ts) changes a stored
 * user, and blocks or frees its people.
 */

import { plusSeconds } from '../../domain/instant.ts';
import type { SessionKind } from '../../domain/sessions/session.ts';
import { judgeLogoutToken, type LogoutDenialReason, type LogoutVerdict } from '../../domain/signals/logout-token.ts';
import type { ExpectedSignal } from '../../domain/signals/signal-claims.ts';
import { type CompactJws, readProviderJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type LogOutVerdict, logOut } from '../decisions/log-out.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';
import type { Decisions } from '../ports/decisions.ts';
import { type HeldPermit, type ProviderKeys, providerFault } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import { type Log, type Measurements, traceFields } from '../ports/telemetry.ts';

interface AcceptLogout {
  readonly decisions: Decisions;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
  readonly sharedTime: SharedTime;
  readonly clients: readonly LogoutClient[];
  /** The operators' own provider and their client there; `undefined` if they sign in at the upstream one, or nowhere. */
  readonly operators?: OperatorsLogout | undefined;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** `Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession`. */
  readonly endTasksWithoutSession: boolean;
  readonly log: Pick<Log, 'warn'>;
  readonly measurements: Pick<Measurements, 'signalWithoutEffect'> | undefined;
}

/** A client of the provider whose logout tokens are accepted. */
export interface LogoutClient {
  readonly audience: string;
  /** `Service:UpstreamIdp:BackchannelLogout:Audience` or `Service:Authorize:ClientId`: tasks start with its tokens. */
  readonly endsTasks: boolean;
  /** The page at which people sign in with it (`Service:Me:ClientId`, `Service:Operators:ClientId`). */
  readonly closesSessions: SessionKind | undefined;
}

interface OperatorsLogout {
  readonly issuer: string;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly client: LogoutClient;
  /**
   * The issuer of the upstream provider. Behind `Service:UpstreamIdp:MetadataUrl` it may be the operators' own provider;
   * `undefined` if its metadata could not be read yet.
   */
  readonly upstreamIssuer: (trace?: Trace, permit?: HeldPermit) => Promise<string | undefined>;
}

/** The lifetime of the provider's access tokens is unknown. A token that lives longer than a day is accepted after it. */
const REMEMBERED_SECONDS = 24 * 60 * 60;

export type LogoutOutcome = LogOutVerdict | { readonly kind: 'refused'; readonly reason: LogoutDenialReason };

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
  permit?: HeldPermit,
): Promise<LogoutOutcome> {
  const outcome = await decide(service, logoutToken, trace, permit);
  if (outcome.kind === 'refused') {
    await service.anonymous.record({ event: 'signal.denied', reason: outcome.reason }, trace);
  }
  return outcome;
}

async function decide(
  service: AcceptLogout,
  logoutToken: string | undefined,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<LogoutOutcome> {
  const { decisions, clock, sharedTime, refuseLoggedOut, endTasksWithoutSession } = service;

  // 1. The identity provider signed the token, and it is a recent logout token for this service.
  const jws = logoutToken === undefined ? undefined : readProviderJws(logoutToken);
  if (jws === undefined) return { kind: 'refused', reason: 'logout_malformed' };
  const latest = await sharedTime.latest();
  const times = { now: clock.now(), latest };
  const { isOfOperators, ...read } = await readAtProvider(jws, service, times, trace, permit);
  if (read.kind === 'refused') return read;
  const { issuer, accepted, first } = read;

  // 2. Apply it once: one transaction ends the tasks, closes the sessions, and stores the jti and the logout.
  const { jti, forgetAt, loggedOut, issuedAt } = first;
  const at = await sharedTime.earliest();
  const remembered = { statedAt: issuedAt, forgetAt: plusSeconds(at, REMEMBERED_SECONDS) };
  const endsTasks = accepted.some((client) => client.endsTasks);
  const applied = await decisions.decide(logOut, {
    issuer,
    jti,
    forgetAt,
    at,
    loggedOut,
    keepsTasks: !endsTasks,
    endsTasksWithoutSession: endTasksWithoutSession,
    remember: endsTasks && refuseLoggedOut ? remembered : undefined,
    closes: Object.fromEntries(
      accepted.flatMap(({ closesSessions: kind }) => (kind === undefined ? [] : [[kind, remembered]])),
    ),
    isOfOperators,
  });
  if (applied.kind === 'accepted' && applied.leavesTasksWithoutSession) {
    // The record names the person. The log does not.
    if (applied.revokedTasks === 0) service.measurements?.signalWithoutEffect('logout');
    service.log.warn(LEFT, { revokedTasks: applied.revokedTasks, setting: SETTING, ...traceFields(trace) });
  }
  return applied;
}

const SETTING = 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession';
const LEFT = 'a logout named a person and a session: tasks of the person that belong to no session go on';

type ReadToken =
  | {
      readonly kind: 'accepted';
      readonly issuer: string;
      /** The clients for which it is. */
      readonly accepted: readonly LogoutClient[];
      readonly first: Extract<LogoutVerdict, { readonly kind: 'accepted' }>;
    }
  | { readonly kind: 'refused'; readonly reason: LogoutDenialReason };

/** The times by which a token is judged. */
type Times = Pick<ExpectedSignal, 'now' | 'latest'>;

/** Reads the token with the keys and the clients of the provider that its issuer names. */
async function readAtProvider(
  jws: CompactJws,
  service: AcceptLogout,
  times: Times,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<ReadToken & { readonly isOfOperators: boolean }> {
  // The claim is not trusted yet. It only says whose keys must verify it.
  const own = service.operators?.issuer === jws.claims.issuer ? service.operators : undefined;
  if (own === undefined) return { ...(await readToken(jws, service, times, trace, permit)), isOfOperators: false };
  const upstream = await own.upstreamIssuer(trace, permit);
  const isOther = upstream !== undefined && upstream !== own.issuer;
  // At one provider, a token for a client that operators and people share ends what belongs to both.
  const clients = isOther ? [own.client] : [...service.clients, own.client];
  const read = await readToken(jws, { ...own, clients }, times, trace, permit);
  const isForOthers = read.kind === 'accepted' && read.accepted.some((client) => client !== own.client);
  if (upstream === undefined && isForOthers) {
    // It may be one provider. To close only the operators' sessions would use up the token, and no task would ever end.
    return { kind: 'refused', reason: 'logout_keys_unavailable', isOfOperators: true };
  }
  return { ...read, isOfOperators: upstream !== own.issuer };
}

/** Verifies and judges the token by the keys and the clients of one provider. */
async function readToken(
  jws: CompactJws,
  { providerKeys, clients }: Pick<AcceptLogout, 'providerKeys' | 'clients'>,
  times: Times,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<ReadToken> {
  const signature = await providerKeys.verify(jws, trace, permit);
  if (signature.kind !== 'verified') {
    return { kind: 'refused', reason: `logout_${providerFault(signature.kind)}` };
  }
  const { issuer } = signature;
  const verdicts = clients.map((client) => ({
    client,
    verdict: judgeLogoutToken(jws, { issuer, audience: client.audience, ...times }),
  }));
  const accepted = verdicts.flatMap(({ verdict, client }) => (verdict.kind === 'accepted' ? [client] : []));
  const [first] = verdicts.flatMap(({ verdict }) => (verdict.kind === 'accepted' ? [verdict] : []));
  return first === undefined
    ? reasonOf(verdicts.map(({ verdict }) => verdict))
    : { kind: 'accepted', issuer, accepted, first };
}

/** A token for one of the clients has the reason of that client's check. */
function reasonOf(verdicts: readonly LogoutVerdict[]): Extract<ReadToken, { readonly kind: 'refused' }> {
  const refusals = verdicts.flatMap((verdict) => (verdict.kind === 'refused' ? [verdict] : []));
  const [first = { kind: 'refused', reason: 'logout_audience_mismatch' } as const] = refusals;
  return refusals.find(({ reason }) => reason !== 'logout_audience_mismatch') ?? first;
}
