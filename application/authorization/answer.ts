/** The person reads the page of a request, and answers it: once, in the browser that began it. */

import type { Agent } from '../../domain/agents/agent.ts';
import { findRedirect } from '../../domain/agents/redirect-uri.ts';
import {
  type Authorization,
  answerDetail,
  CODE_SECRET_BYTES,
  makeCode,
  type VoidReason,
} from '../../domain/authorization/authorization.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { makeTaskId, type RequestId } from '../../domain/identifiers.ts';
import { instantFromSeconds, plusSeconds, toSeconds } from '../../domain/instant.ts';
import { formatScope, intersectScopes, type Scope } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import type { ClientLabel } from '../../domain/tasks/task-authorization.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type ClientSource, describeClient, type FoundClient } from '../authentication/find-client.ts';
import { answerRequest } from '../decisions/answer-request.ts';
import { refuse } from '../decisions/refuse.ts';
import type { Authorizations } from '../ports/authorizations.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { HeldPermit } from '../ports/keys.ts';
import type { Clock, Digest, Randomness, SharedTime } from '../ports/runtime.ts';
import type { AnswerAddress } from './judge-request.ts';

export interface Answering {
  readonly authorizations: Pick<Authorizations, 'find'>;
  readonly clients: ClientSource;
  readonly decisions: Decisions;
  readonly clock: Clock;
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'secret' | 'ulid'>;
  readonly digest: Digest;
  /** `Service:Authorize:CodeTtl`, in seconds. */
  readonly codeTtl: number;
}

/** What the page of a request is about. */
export type FoundRequest =
  /** It is not stored, or this browser did not begin it. */
  | { readonly kind: 'not_found' }
  /** It waits for the person. */
  | {
      readonly kind: 'open';
      readonly request: Authorization;
      readonly agent: Agent;
      readonly secret: string;
      /** Whether only a key redeems the code. Else anyone could use the program's name. */
      readonly isProven: boolean;
    }
  | (Over & { readonly secret: string });

/** The request takes no answer. */
interface Over {
  readonly kind: 'over';
  /** `undefined` if the client has lost it. */
  readonly to: AnswerAddress | undefined;
  readonly why: OverReason;
}

/** Why a request takes no answer. */
export type OverReason =
  | { readonly kind: 'answered'; readonly as: 'allowed' | 'refused' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'ended'; readonly reason: VoidReason }
  | { readonly kind: 'denied'; readonly reason: DenialReason };

/**
 * @param secrets those of the browser
 * @throws StorageUnavailable
 */
export async function findRequest(
  service: Answering,
  requestId: RequestId,
  secrets: readonly string[],
  trace?: Trace,
  permit?: HeldPermit,
): Promise<FoundRequest> {
  const found = await findOwn(service, requestId, secrets);
  if (found === undefined) return { kind: 'not_found' };
  const { request, secret } = found;
  const over = (why: OverReason): FoundRequest => ({ kind: 'over', to: addressOf(request), why, secret });
  switch (request.state) {
    case 'allowed':
    case 'spent':
      return over({ kind: 'answered', as: 'allowed' });
    case 'refused':
      return over({ kind: 'answered', as: 'refused' });
    case 'void':
      return over({ kind: 'ended', reason: request.voidReason ?? 'request_expired' });
  }
  if (request.expiresAt <= (await service.sharedTime.latest())) return over({ kind: 'expired' });
  const agent = await service.clients.agents.find(request.agentId);
  if (agent?.enabled !== true) return over({ kind: 'ended', reason: 'agent_disabled' });
  const client = await describeClient(service.clients, agent, trace, permit);
  if (hasLost(client, request)) return { ...LOST_REDIRECT, secret };
  return { kind: 'open', request, agent, secret, isProven: labelNow(client, request) !== 'public' };
}

async function findOwn({ authorizations, digest }: Answering, requestId: RequestId, secrets: readonly string[]) {
  const request = await authorizations.find(requestId);
  const secret = secrets.find((each) => digest(each) === request?.browserHash);
  return request === undefined || secret === undefined ? undefined : { request, secret };
}

/** No answer goes to an address that the client has lost since the request began: it may be a stranger's by now. */
function hasLost(client: FoundClient, { redirectUri }: Authorization): boolean {
  if (client.kind === 'unavailable') return false;
  return client.kind !== 'found' || findRedirect(client.client.redirectUris, redirectUri) === undefined;
}

/** Of a document that cannot be fetched, what it said when the person came back counts. */
function labelNow(client: FoundClient, { client: before }: Authorization): ClientLabel {
  return client.kind === 'found' ? client.client.label : before;
}

const LOST_REDIRECT = {
  kind: 'over',
  to: undefined,
  why: { kind: 'denied', reason: 'redirect_uri_not_registered' },
} as const;

function addressOf({ redirectUri, clientState: state }: Authorization): AnswerAddress {
  return { redirectUri, state };
}

/** What the person chose. */
export type PersonsAnswer =
  | { readonly kind: 'refuse' }
  | {
      readonly kind: 'allow';
      /** Any others are ignored. */
      readonly scope: Scope;
      /** Seconds. */
      readonly lasts: number;
      /** What the person wrote, where the request has no purpose. */
      readonly purpose: string | undefined;
    };

export type AnswerOutcome =
  | { readonly kind: 'not_found' }
  | Over
  | { readonly kind: 'refused'; readonly to: AnswerAddress }
  | { readonly kind: 'allowed'; readonly to: AnswerAddress; readonly code: string }
  /** The person took away every scope. The page is shown again. */
  | { readonly kind: 'nothing_chosen' };

/** An attempt fails only if another change of this agent was stored. */
const MAX_ATTEMPTS = 5;

/**
 * @param secret that of the browser
 * @throws StorageUnavailable
 */
export async function answerAuthorization(
  service: Answering,
  requestId: RequestId,
  secret: string,
  given: PersonsAnswer,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<AnswerOutcome> {
  const found = await findOwn(service, requestId, [secret]);
  if (found === undefined) return { kind: 'not_found' };
  const { request } = found;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const agent = await service.clients.agents.find(request.agentId);
    let label = request.client;
    if (request.state === 'open' && agent?.enabled === true) {
      const client = await describeClient(service.clients, agent, trace, permit);
      if (hasLost(client, request)) return loseRedirect(service, request);
      label = labelNow(client, request);
    }
    const answered = await answerOnce(service, request, { agent, label }, given);
    if (answered !== 'agent_changed') return answered;
    if (agent?.enabled !== true) break;
  }
  return { kind: 'over', to: addressOf(request), why: { kind: 'ended', reason: 'agent_disabled' } };
}

async function loseRedirect(
  { decisions, clock }: Answering,
  { requestId, client, agentId, person, audience, offered }: Authorization,
): Promise<AnswerOutcome> {
  const entry = {
    at: clock.now(),
    event: 'authorization.denied',
    agentId,
    sponsor: person.subject,
    audience,
    scope: formatScope(offered),
    decision: 'deny',
    reason: LOST_REDIRECT.why.reason,
    detail: answerDetail({ requestId, client }),
  } as const;
  await decisions.decide(refuse, { entry });
  return LOST_REDIRECT;
}

/** The decision also judges whether the request still waits, and records why it does not. */
async function answerOnce(
  service: Answering,
  request: Authorization,
  { agent, label }: { readonly agent: Agent | undefined; readonly label: ClientLabel },
  given: PersonsAnswer,
): Promise<AnswerOutcome | 'agent_changed'> {
  const { decisions, clock, sharedTime, randomness, digest, codeTtl } = service;
  const to = addressOf(request);
  const latest = await sharedTime.latest();
  const code = makeCode(randomness.secret(CODE_SECRET_BYTES));
  const taskId = makeTaskId(randomness.ulid());
  const chosen = given.kind === 'allow' ? await choiceOf(service, request, agent, given) : undefined;
  if (chosen?.scope.length === 0) return { kind: 'nothing_chosen' };
  const verdict = await decisions.decide(answerRequest, {
    request,
    browserHash: request.browserHash,
    client: label,
    answer:
      chosen === undefined
        ? { kind: 'refuse' }
        : {
            kind: 'allow',
            code: { ...chosen, hash: digest(code), expiresAt: plusSeconds(latest, codeTtl), taskId },
            purpose: given.kind === 'allow' ? given.purpose : undefined,
          },
    // No registration has this revision.
    agentRevision: agent?.revision ?? -1,
    at: clock.now(),
    latest,
  });
  const over = (why: OverReason): AnswerOutcome => ({ kind: 'over', to, why });
  switch (verdict.kind) {
    case 'allowed':
      return { kind: 'allowed', to, code };
    case 'refused':
      return { kind: 'refused', to };
    case 'not_found':
      return { kind: 'not_found' };
    case 'answered':
      return over({ kind: 'answered', as: verdict.as === 'refused' ? 'refused' : 'allowed' });
    case 'expired':
      return over({ kind: 'expired' });
    case 'ended':
      return over({ kind: 'ended', reason: verdict.reason });
    case 'sponsor_blocked':
      return over({ kind: 'denied', reason: blockDenial(verdict.block) });
    case 'agent_changed':
      return 'agent_changed';
  }
}

async function choiceOf(
  { sharedTime }: Answering,
  request: Authorization,
  agent: Agent | undefined,
  { scope, lasts }: Extract<PersonsAnswer, { readonly kind: 'allow' }>,
) {
  const seconds = Math.min(lasts, agent?.maxTaskTtl ?? lasts);
  return {
    scope: intersectScopes(request.offered, scope),
    // A whole second, as every end of a task.
    taskEndsAt: instantFromSeconds(toSeconds(await sharedTime.earliest()) + seconds),
  };
}
