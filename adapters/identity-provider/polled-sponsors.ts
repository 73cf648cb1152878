/**
 * Asks the identity provider's admin API whether agents may still act for a person (specification "Sponsor check", mode
 * `poll`; supplement "Blocks, poll mode, health"). It uses the API of Keycloak: `GET {UsersUrl}/{sub}`.
 */

import type { SponsorDirectory, SponsorStatus } from '../../application/ports/identity-provider.ts';
import {
  isDocument,
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
} from '../../application/ports/network.ts';
import type { Clock, Monotonic } from '../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { isJsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type Circuit, circuit, type Question } from './circuit.ts';
import { statusSentence } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import type { ServiceTokens } from './service-token.ts';

interface Query {
  readonly subject: string;
  readonly askedAt: Instant;
  readonly trace: Trace | undefined;
}

/** The result of a query: what to report to the circuit, and the person's status or why it is unknown. */
type Finding = { readonly report: keyof Question } & (
  | { readonly answer: ProviderAnswer }
  | { readonly problem: string }
);

/** Time limit in seconds for a query about a person (supplement "Blocks, poll mode, health"). */
const TIMEOUT_SECONDS = 10;
/** Enough for a user with many attributes. */
const MAX_BYTES = 256 * 1024;

export function polledSponsors(
  usersUrl: string,
  {
    network,
    clock,
    log,
    tokens,
    gate = circuit(clock),
    monotonic = () => performance.now(),
  }: {
    readonly network: Network;
    readonly clock: Clock;
    readonly log: Log;
    readonly tokens: ServiceTokens;
    readonly gate?: Circuit;
    readonly monotonic?: Monotonic;
  },
): SponsorDirectory {
  const remembered = rememberedAnswers(clock, monotonic);
  const folder = usersUrl.replace(/\/+$/, '');

  function request({ subject, askedAt, trace }: Query, token: string): NetworkRequest {
    const left = Math.floor((TIMEOUT_SECONDS - secondsBetween(askedAt, clock.now())) * 1000);
    if (left <= 0) throw new NetworkFailure('The earlier requests of this query used up the time limit.');
    return {
      method: 'GET',
      url: `${folder}/${encodeURIComponent(subject)}`,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      timeoutMs: left,
      maxBytes: MAX_BYTES,
      trace,
      purpose: 'person',
    };
  }

  async function consult(query: Query, retried = false): Promise<Finding> {
    const service = await tokens.current(query.trace);
    if (service.kind === 'unavailable') {
      // A failed attempt counts once, no matter how many callers waited for it.
      return { report: service.shared ? 'unknown' : 'failed', problem: service.problem };
    }
    try {
      const answer = await sendAgainIfCut(network, () => request(query, service.token));
      // The provider may have restarted, or changed its keys, since it issued the token.
      const isRefused = answer.status === 401 && !retried && tokens.forget(service.token);
      if (!isRefused) return judge(answer, query.subject, service.token);
    } catch (cause) {
      if (!(cause instanceof NetworkFailure)) throw cause;
      const isOfPerson = cause.answered && !isFailure(cause.status) && cause.status !== 404;
      return { report: isOfPerson ? 'answered' : 'failed', problem: cause.message };
    }
    return consult(query, true);
  }

  async function ask(query: Query, question: Question): Promise<SponsorStatus> {
    let finding: Finding = { report: 'unknown', problem: 'Asking failed.' };
    try {
      finding = await consult(query);
    } finally {
      question[finding.report]();
    }
    if ('answer' in finding) return finding.answer;
    log.warn('The identity provider did not say whether a person may be acted for.', {
      ...traceFields(query.trace),
      problem: finding.problem,
    });
    return 'sponsor_status_unavailable';
  }

  return {
    async status(subject, maxAge, trace) {
      if (!canBeAskedAbout(subject)) return 'sponsor_not_found';
      const known = maxAge > 0 ? remembered.find(subject, maxAge) : undefined;
      if (known !== undefined) return known;
      const question = gate.enter();
      if (question === undefined) return 'sponsor_status_unavailable';
      const asked = { at: clock.now(), atMs: monotonic() };
      const status = await ask({ subject, askedAt: asked.at, trace }, question);
      if (status === 'sponsor_status_unavailable') return status;
      if (maxAge > 0) remembered.remember(subject, status, asked);
      else remembered.contradict(subject, status);
      return status;
    },
  };
}

/**
 * Whether a URL can contain this `sub`. Percent-encoded, any other text is one path segment (RFC 3986 §2.1, §3.3). `.` and
 * `..` are dot segments however they are encoded (RFC 3986 §6.2.2.3), and no directory uses them as an id.
 */
function canBeAskedAbout(subject: string): boolean {
  return subject !== '' && !/^\.{1,2}$/.test(subject) && subject.isWellFormed();
}

function judge(answer: NetworkAnswer, subject: string, token: string): Finding {
  const { status, body } = answer;
  const problem = statusSentence('answer', answer, [subject, token]);
  if (isFailure(status)) return { report: 'failed', problem };
  if (status === 404) {
    return isAboutPerson(body)
      ? { report: 'answered', answer: 'sponsor_not_found' }
      : { report: 'failed', problem: `${problem} ${UNKNOWN_PATH}` };
  }
  if (!isDocument(status)) return { report: 'answered', problem };
  const person = parseStrictJson(body);
  // A server that decodes and normalizes the path takes `a%2F..%2Fb` for `b`, and answers about that person.
  const id = isJsonObject(person) ? member(person, 'id') : undefined;
  if (typeof id === 'string' && id !== subject) return { report: 'answered', problem: 'The answer has another id.' };
  const enabled = isJsonObject(person) ? member(person, 'enabled') : undefined;
  if (typeof enabled !== 'boolean') return { report: 'answered', problem: 'The answer has no member enabled.' };
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

type ProviderAnswer = Exclude<SponsorStatus, 'sponsor_status_unavailable'>;

/** When a query was sent, by the clock and by the monotonic one, in milliseconds. */
interface Asked {
  readonly at: Instant;
  readonly atMs: number;
}

/** A cache of the identity provider's answers about people (specification "Sponsor check", `CacheTtl`). */
interface RememberedAnswers {
  /** The answer to a query that was sent at most `maxAge` seconds ago, by both clocks. */
  find(subject: string, maxAge: number): ProviderAnswer | undefined;
  /** Caches an answer, unless a newer query's answer is cached. */
  remember(subject: string, answer: ProviderAnswer, asked: Asked): void;
  /** Removes a cached answer that differs from this one. */
  contradict(subject: string, answer: ProviderAnswer): void;
}

/** Enough for all people with live tasks. The answer of the least recent query is evicted first. */
const MAX_PEOPLE = 10_000;

/**
 * The clock alone could be set back, and reach the time of an old answer again: the monotonic one never is. It alone could
 * stand still while the machine sleeps.
 */
export function rememberedAnswers(clock: Clock, monotonic: Monotonic): RememberedAnswers {
  const people = new Map<string, Asked & { readonly answer: ProviderAnswer }>();
  return {
    find(subject, maxAge) {
      const known = people.get(subject);
      if (known === undefined) return undefined;
      const age = secondsBetween(known.at, clock.now());
      const isRecent = age >= 0 && age <= maxAge && monotonic() - known.atMs <= maxAge * 1000;
      return isRecent ? known.answer : undefined;
    },
    remember(subject, answer, asked) {
      const known = people.get(subject);
      if (known !== undefined && known.atMs > asked.atMs) return;
      people.delete(subject);
      people.set(subject, { ...asked, answer });
      const [eldest] = people.keys();
      if (people.size > MAX_PEOPLE && eldest !== undefined) people.delete(eldest);
    },
    contradict(subject, answer) {
      if (people.get(subject)?.answer !== answer) people.delete(subject);
    },
  };
}
