/**
 * The identity provider's admin API for people, in the form of Keycloak's: `GET {UsersUrl}/{sub}` (supplement "Blocks, poll
 * mode, health").
 */

import type { KnownStatus } from '../../application/ports/identity-provider.ts';
import {
  isDocument,
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
  type Problem,
} from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { isJsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { Question } from './circuit.ts';
import { statusSentence } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import type { ServiceTokens } from './service-token.ts';

interface Query {
  readonly subject: string;
  readonly askedAt: Instant;
  readonly trace: Trace | undefined;
}

/** The person's status or why it is unknown, and what to report to the circuit. */
export type PersonAnswer = { readonly report: keyof Question } & ({ readonly answer: KnownStatus } | Problem);

/** The users service, and the tokens that it accepts. */
export interface UsersService {
  /** `SponsorCheck:UsersUrl`. */
  readonly usersUrl: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly tokens: ServiceTokens;
}

/** Time limit in milliseconds for a query about a person (supplement "Blocks, poll mode, health"). */
const TIMEOUT_MS = 10_000;
/** Enough for a user with many attributes. */
const MAX_BYTES = 256 * 1024;

/** A request for a path below the users. */
export function usersRequest({ usersUrl }: UsersService, path: string, token: string): NetworkRequest {
  return {
    method: 'GET',
    url: `${usersUrl.replace(/\/+$/, '')}/${path}`,
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  };
}

/** Asks about a person, without a cache or a circuit breaker. */
export async function askUsers(service: UsersService, subject: string, trace?: Trace): Promise<PersonAnswer> {
  if (!canBeAskedAbout(subject)) return { report: 'unknown', answer: 'sponsor_not_found' };
  return consult(service, { subject, askedAt: service.clock.now(), trace });
}

async function consult(service: UsersService, query: Query, retried = false): Promise<PersonAnswer> {
  const { network, tokens } = service;
  const access = await tokens.current(query.trace);
  if (access.kind === 'unavailable') {
    // A failed attempt counts once, no matter how many callers waited for it.
    return { report: access.shared ? 'unknown' : 'failed', problem: access.problem };
  }
  try {
    const answer = await sendAgainIfCut(network, () => request(service, query, access.token));
    // The provider may have restarted, or changed its keys, since it issued the token.
    const isRefused = answer.status === 401 && !retried && tokens.forget(access.token);
    if (!isRefused) return judge(answer, query.subject, access.token);
  } catch (cause) {
    if (!(cause instanceof NetworkFailure)) throw cause;
    const isOfPerson = cause.answered && !isFailure(cause.status) && cause.status !== 404;
    return { report: isOfPerson ? 'answered' : 'failed', problem: cause.message };
  }
  return consult(service, query, true);
}

function request(service: UsersService, { subject, askedAt, trace }: Query, token: string): NetworkRequest {
  const left = Math.floor(TIMEOUT_MS - secondsBetween(askedAt, service.clock.now()) * 1000);
  if (left <= 0) throw new NetworkFailure('The earlier requests of this query used up the time limit.');
  const ofPerson = usersRequest(service, encodeURIComponent(subject), token);
  return { ...ofPerson, timeoutMs: left, trace, purpose: 'person' };
}

/**
 * Whether a URL can contain this `sub`. Percent-encoded, any other text is one path segment (RFC 3986 §2.1, §3.3). `.` and
 * `..` are dot segments however they are encoded (RFC 3986 §6.2.2.3), and no directory uses them as an id.
 */
export function canBeAskedAbout(subject: string): boolean {
  return subject !== '' && !/^\.{1,2}$/.test(subject) && subject.isWellFormed();
}

function judge(answer: NetworkAnswer, subject: string, token: string): PersonAnswer {
  const { status, body } = answer;
  const unexpected = { problem: statusSentence('answer', answer, [subject, token]), status };
  if (isFailure(status)) return { report: 'failed', ...unexpected };
  if (status === 404) {
    return isAboutPerson(body)
      ? { report: 'answered', answer: 'sponsor_not_found' }
      : { report: 'failed', problem: `${unexpected.problem} ${UNKNOWN_PATH}`, status };
  }
  if (!isDocument(status)) return { report: 'answered', ...unexpected };
  const person = parseStrictJson(body);
  // A server that decodes and normalizes the path takes `a%2F..%2Fb` for `b`, and answers about that person.
  const id = isJsonObject(person) ? member(person, 'id') : undefined;
  if (typeof id === 'string' && id !== subject)
    return { report: 'answered', problem: 'The answer has another id.', status };
  const enabled = isJsonObject(person) ? member(person, 'enabled') : undefined;
  if (typeof enabled !== 'boolean') return { report: 'answered', problem: 'The answer has no member enabled.', status };
  return { report: 'answered', answer: enabled ? 'active' : 'sponsor_disabled' };
}

/** An answer with this status is a failure of the provider. It says nothing about one person. */
function isFailure(status: number | undefined): boolean {
  return status !== undefined && (status >= 500 || status === 429);
}

const UNKNOWN_PATH = 'It does not say that the person is unknown: the path is, or an intermediary answered.';
/** The first words of Keycloak's `error` about a path that it does not have. */
const PATH_ERRORS = ['HTTP 404', 'Unable to find matching target resource method', 'RESTEASY'];

/**
 * Whether a 404 says that the person is unknown. A proxy answers with text or HTML while the users service restarts
 * (supplement "Blocks, poll mode, health").
 */
function isAboutPerson(body: string): boolean {
  if (body === '') return true;
  const answer = parseStrictJson(body);
  if (!isJsonObject(answer)) return false;
  const error = member(answer, 'error');
  return typeof error !== 'string' || !PATH_ERRORS.some((start) => error.startsWith(start));
}
