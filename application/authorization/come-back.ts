/**
 * The person is back from the identity provider. Their sign-in says who they are. The access token that came with it is
 * checked as an exchange checks a subject token, and then forgotten: only the person's facts are stored, with the request.
 *
 * Until both tokens have verified and name one person, a record names no person.
 */

import type { Authorization, EndCounts, VoidReason } from '../../domain/authorization/authorization.ts';
import type { Prompt } from '../../domain/authorization/authorization-request.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { makeRequestId, type RequestId, type SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { formatScope } from '../../domain/scope.ts';
import { shownName } from '../../domain/sessions/shown-name.ts';
import type { SignInDenial } from '../../domain/sign-in-denial.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import { judgeMayAct, type MayActMode } from '../../domain/sponsors/may-act.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { judgePolicy, ROOT_DELEGATION_DEPTH } from '../../domain/tasks/policy.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { checkSponsor, type SponsorCheck } from '../authentication/check-sponsor.ts';
import { readSubjectToken, type SubjectValidation } from '../authentication/validate-subject-token.ts';
import { keepRequest } from '../decisions/keep-request.ts';
import { refuse } from '../decisions/refuse.ts';
import { type Decisions, StorageUnavailable } from '../ports/decisions.ts';
import type { SignInOutcome } from '../ports/identity-provider.ts';
import type { HeldPermit } from '../ports/keys.ts';
import type { Digest, Randomness, SharedTime } from '../ports/runtime.ts';
import { type Beginning, type BeginOutcome, type BegunSignIn, beginAuthorization } from './begin.ts';
import {
  type AnswerAddress,
  type AskedAuthorization,
  type JudgedRequest,
  judgeRequest,
  recordedReason,
} from './judge-request.ts';

interface ComingBack extends Beginning, Omit<SubjectValidation, 'sharedTime'>, SponsorCheck {
  readonly decisions: Decisions;
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'ulid'>;
  readonly digest: Digest;
  readonly issuer: string;
  /** `Service:UpstreamIdp:MayAct`. */
  readonly mayAct: MayActMode;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** `Service:Authorize:RequestTtl`, in seconds. */
  readonly requestTtl: number;
}

/** What the browser kept of the request. */
export interface KeptRequest {
  readonly asked: AskedAuthorization;
  readonly signIn: BegunSignIn;
  readonly beganAt: Instant;
  readonly ends: EndCounts;
}

type EndedWay = Extract<ComeBackOutcome, { readonly kind: 'ended' }>;
type ComeBackReason = DenialReason | SignInDenial;

export type ComeBackOutcome =
  | Extract<BeginOutcome, { readonly kind: 'unaddressed' }>
  /** A page with the sentence, and a link back to the client. */
  | {
      readonly kind: 'ended';
      readonly to: AnswerAddress;
      readonly reason: ComeBackReason;
      /** What ended the request while the person signed in. */
      readonly by?: VoidReason;
    }
  /** The database is away: a page, and a link back to the client. */
  | { readonly kind: 'unavailable'; readonly to: AnswerAddress; readonly cause: StorageUnavailable }
  /** The sign-in was too old: one more, whose secrets are those of `again`. */
  | { readonly kind: 'begun'; readonly to: AnswerAddress; readonly address: string }
  | {
      readonly kind: 'kept';
      readonly requestId: RequestId;
      readonly expiresAt: Instant;
      /** By which the page greets the person. It is not stored: the browser keeps it. */
      readonly name: string | undefined;
    };

/** The provider is queried for every new task, without a cache (specification "Exchange" rule 4). */
const FRESH = 0;

const STALE: readonly SignInDenial[] = ['sign_in_undated', 'sign_in_too_old'];

/** An attempt fails only if the agent's registration was changed meanwhile. */
const MAX_ATTEMPTS = 5;

/** What the browser brings back. */
export interface Return {
  /** The query of the return address, with `?`. */
  readonly query: string;
  /** That of the browser's cookie from now on. */
  readonly browserSecret: string;
  /** The secrets of one more sign-in, if one is needed. */
  readonly again: BegunSignIn;
}

/** @throws StorageUnavailable before the way back to the client is known */
export async function comeBack(
  service: ComingBack,
  given: KeptRequest,
  back: Return,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<ComeBackOutcome> {
  const kept = { ...given, beganAt: await notAhead(service, given.beganAt) };
  const record = recording(service, trace);

  // 1. The request, as it is judged now.
  const judged = await judgeRequest(service, kept.asked, trace, permit);
  if (judged.kind === 'unaddressed') {
    await record(recordedReason(judged.reason));
    return judged;
  }
  const { to } = judged;
  try {
    return await goOn(service, kept, judged, back, trace, permit);
  } catch (error) {
    // The way back is known by now, so the client can be told.
    if (error instanceof StorageUnavailable) return { kind: 'unavailable', to, cause: error };
    throw error;
  }
}

/** The steps that can end with an answer to the client. */
async function goOn(
  service: ComingBack,
  kept: KeptRequest,
  judged: Exclude<JudgedRequest, { readonly kind: 'unaddressed' }>,
  { query, browserSecret, again }: Return,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<ComeBackOutcome> {
  const { asked, signIn, beganAt } = kept;
  const { to } = judged;
  const record = recording(service, trace);
  const ended = async (reason: ComeBackReason): Promise<ComeBackOutcome> => {
    await record(reason);
    return { kind: 'ended', to, reason };
  };
  const expiresAt = plusSeconds(beganAt, service.requestTtl);
  if (expiresAt <= (await service.sharedTime.latest())) return ended('request_expired');
  if (judged.kind === 'refused') return ended(judged.denial.reason);

  // 2. The sign-in: who the person is, and how recently they proved it.
  const { isSecond, ...secrets } = signIn;
  const outcome = await service.provider.finish({ ...secrets, maxAge: service.maxAuthAge }, query, trace);
  const stale = staleness(outcome, judged.request.prompt, beganAt);
  if (stale !== undefined && !isSecond) {
    const begun = await beginAuthorization(service, asked, { ...again, isSecond: true }, trace, permit);
    if (begun.kind === 'refused') return { kind: 'ended', to, reason: begun.denial.reason };
    return begun.kind === 'no_sign_in' ? { kind: 'ended', to, reason: begun.reason } : begun;
  }
  if (stale !== undefined) return ended(stale);
  if (outcome.kind === 'refused') return ended(outcome.reason);

  // 3. The access token, by every check of a subject token. One that cannot be read is no JWT, as opaque tokens are.
  const token = outcome.accessToken?.reveal() ?? '';
  const subject = await readSubjectToken(service, token, trace, permit);
  if (subject.kind === 'denied') return ended(subject.denial.reason);
  const { claims } = subject.value;
  if (subject.value.person.sponsorKey !== outcome.person.sponsorKey) return ended('sign_in_other_person');

  // 4. The person, and what can be offered to them.
  const { sessionId, authenticatedAt } = outcome.person;
  const person = {
    ...subject.value.person,
    // Some providers name the session and its beginning in ID tokens only.
    sessionId: subject.value.person.sessionId ?? sessionId,
    authenticatedAt: subject.value.person.authenticatedAt ?? authenticatedAt,
  };
  const name = shownName(outcome.idToken.reveal(), outcome.person.subject);
  const came: Came = { kept, person, name, claims, expiresAt, browserHash: service.digest(browserSecret) };
  let current: JudgedRequest = judged;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && current.kind === 'judged'; attempt += 1) {
    const offered = await offer(service, current, came, trace);
    if (offered !== 'agent_changed') return offered;
    current = await judgeRequest(service, asked, trace, permit);
  }
  return ended(current.kind === 'refused' ? current.denial.reason : 'overloaded');
}

function recording({ anonymous }: Pick<ComingBack, 'anonymous'>, trace: Trace | undefined) {
  return async (reason: ComeBackReason) => {
    await anonymous.record({ event: 'authorization.denied', reason }, trace);
  };
}

/** The browser's owner could write a time to come, and the request would wait, and stay stored, for as long as they like. */
async function notAhead({ sharedTime }: Pick<ComingBack, 'sharedTime'>, beganAt: Instant): Promise<Instant> {
  const earliest = await sharedTime.earliest();
  return beganAt < earliest ? beganAt : earliest;
}

/** The sign-in that does not prove enough; `undefined` for one that does, and for one that failed otherwise. */
function staleness(outcome: SignInOutcome, { login }: Prompt, beganAt: Instant): SignInDenial | undefined {
  if (outcome.kind === 'refused') return STALE.find((reason) => reason === outcome.reason);
  return login ? judgeNewSignIn(outcome.person.authenticatedAt, beganAt) : undefined;
}

interface Came {
  readonly kept: KeptRequest;
  readonly person: Person & { readonly issuer: string };
  readonly name: string | undefined;
  /** Of the access token. */
  readonly claims: Claims;
  readonly expiresAt: Instant;
  readonly browserHash: string;
}

/** From here on a record names the person. */
async function offer(
  service: ComingBack,
  { to, client, request, audience, asked }: Extract<JudgedRequest, { readonly kind: 'judged' }>,
  { kept, person, name, claims, expiresAt, browserHash }: Came,
  trace: Trace | undefined,
): Promise<ComeBackOutcome | 'agent_changed'> {
  const { clock, sharedTime, decisions } = service;
  const { agent } = client;
  const about = { agentId: agent.agentId, sponsor: person.subject, audience, scope: formatScope(asked) };
  const refused = async (reason: DenialReason, sponsorKey?: SponsorKey): Promise<EndedWay> => {
    const entry = { at: clock.now(), event: 'authorization.denied', ...about, decision: 'deny', reason } as const;
    const recorded = await decisions.decide(refuse, { entry, sponsorKey });
    return { kind: 'ended', to, reason: recorded === 'grant_exists' ? reason : recorded };
  };

  // 1. Whether the agent may act, and for the person. Where `may_act` is required, *Allow* stands for a missing one.
  if (!agent.enabled) return refused('agent_disabled');
  const mayAct = service.mayAct === 'require' ? 'honour' : service.mayAct;
  const mayActDenial = judgeMayAct(mayAct, claims, agent, [service.issuer, person.issuer]);
  if (mayActDenial !== undefined) return refused(mayActDenial);
  const sponsorDenial = await checkSponsor(service, person, FRESH, trace);
  if (sponsorDenial !== undefined) return refused(sponsorDenial);

  // 2. What can be offered: what the agent may have, without what the person does not hold.
  const { scope: held } = person;
  const policy = judgePolicy(agent, { audience, requested: asked, held, depth: ROOT_DELEGATION_DEPTH });
  if (policy.kind === 'refused') return refused(policy.reason, person.sponsorKey);

  // 3. One decision stores the request, unless something has ended it meanwhile.
  const authorization: Authorization = {
    requestId: makeRequestId(service.randomness.ulid()),
    browserHash,
    agentId: agent.agentId,
    client: client.label,
    redirectUri: to.redirectUri,
    clientState: to.state,
    challenge: request.challenge,
    audience,
    offered: policy.scope,
    asked,
    purpose: request.purpose,
    person,
    beganAt: kept.beganAt,
    cameAt: await sharedTime.earliest(),
    expiresAt,
    state: 'open',
    answeredAt: undefined,
    voidReason: undefined,
    code: undefined,
  };
  const verdict = await decisions.decide(keepRequest, {
    authorization,
    ends: kept.ends,
    agentRevision: agent.revision,
    refuseLoggedOut: service.refuseLoggedOut ? { earliest: authorization.cameAt } : undefined,
  });
  switch (verdict.kind) {
    case 'kept':
      return { kind: 'kept', requestId: authorization.requestId, expiresAt, name };
    case 'agent_changed':
      return 'agent_changed';
    case 'sponsor_blocked':
      return refused(blockDenial(verdict.block));
    case 'logged_out':
      return refused('subject_logged_out');
    case 'ended': {
      const { reason } = verdict;
      if (reason === 'agent_disabled') return refused(reason);
      return { ...(await refused('request_expired')), by: reason };
    }
  }
}

/**
 * Whether the person proved who they are after the request began, by the provider's date. Its clock may be behind ours, by as much
 * as everywhere else: without that, every sign-in there would be too old, and the person would start again without end. The
 * provider was asked for a new sign-in (`prompt=login`), so the slack only lets one pass that is at most a minute older.
 */
function judgeNewSignIn(authenticatedAt: Instant | undefined, beganAt: Instant): SignInDenial | undefined {
  if (authenticatedAt === undefined) return 'sign_in_undated';
  return plusSeconds(authenticatedAt, CLOCK_SKEW_SECONDS) < beganAt ? 'sign_in_too_old' : undefined;
}
