/**
 * The agent's requests to the control plane (specification "POST /oauth2/token", "POST /oauth2/revoke"). Each call sends
 * one request with a new assertion. It returns the answer, or throws an error of errors.ts.
 */

import { randomUUID } from 'node:crypto';
import { AGENT_PREFIX } from '../../../domain/identifiers.ts';
import { trimOws } from '../../../domain/trim-ows.ts';
import { fetchAnswer, MAX_RETRY_AFTER_SECONDS, withTimeout } from '../http-answer.ts';
import type { SignAssertion } from './agent-key.ts';
import { NotNow, Refused, type TaskEnd, TaskOver } from './errors.ts';
import { type IssuedToken, names, readIssuedToken } from './issued-token.ts';
import { type Offer, readIssuedOffer } from './offer.ts';
import type { AgentClock, CheckedAgentOptions } from './options.ts';

export interface ControlPlane {
  /** The address and form of a token exchange with a new assertion, for a client that sends the request itself. */
  readonly tokenEndpoint: string;
  exchangeForm(request: ExchangeRequest): Promise<Readonly<Record<string, string>>>;
  /** @throws Refused, NotNow */
  exchange(request: ExchangeRequest): Promise<IssuedToken>;
  /** @param scope narrows the task permanently. @throws TaskOver, Refused, NotNow */
  renew(held: IssuedToken, resource: string, scope?: readonly string[]): Promise<IssuedToken>;
  /** Offers a part of the task to another agent. @throws TaskOver, Refused, NotNow */
  offer(held: IssuedToken, request: OfferRequest): Promise<Offer>;
  /** Ends the task of a grant. @throws Refused, NotNow */
  revoke(grant: string): Promise<void>;
}

export interface ExchangeRequest {
  /** The person's access token, or the offer of another agent. */
  readonly subjectToken: string;
  /** The default is that of a person's access token. */
  readonly subjectTokenType?: typeof JWT;
  readonly resource: string;
  readonly scope: readonly string[];
  readonly purpose?: string | undefined;
}

interface OfferRequest {
  /** The id of the agent that may take it up. */
  readonly to: string;
  readonly resource: string;
  readonly scope: readonly string[];
}

const TOKEN_PATH = '/oauth2/token';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const REFRESH_TOKEN = 'urn:ietf:params:oauth:token-type:refresh_token';
/** The type of an assertion, and of an offer. */
export const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Long enough for one request, and short, so that an intercepted assertion expires soon. */
const ASSERTION_SECONDS = 60;
/** Used when the answer has no `Retry-After`. */
const DEFAULT_RETRY_MS = 1000;
/** Half of the skew that the control plane accepts. An answer takes less time than this. */
const NOTABLE_MS = 30_000;
/** RFC 6749 §5.2. The error object holds only codes of this form. */
const CODE = /^[a-z_]{1,64}$/;

/** A request refused with one of these, as `reason` or else as `error`, means that the library gives the task up. */
const ENDS = new Set<TaskEnd>([
  'task_revoked',
  'task_expired',
  'task_ending',
  'agent_disabled',
  'sponsor_disabled',
  'sponsor_not_found',
  'parent_ended',
  'ancestor_disabled',
  'invalid_grant',
]);
/** An offer may be refused with the last three because of the agent that it names. */
const RENEWAL_ENDS = new Set<TaskEnd>([
  ...ENDS,
  'delegation_not_allowed',
  'delegation_depth_exceeded',
  'access_denied',
]);

export function controlPlane(options: CheckedAgentOptions, sign: SignAssertion): ControlPlane {
  const { issuer, agentId, instance, clock, timeoutMs } = options;

  const assertion = (): Promise<string> => {
    const now = Math.floor(clock.now() / 1000);
    const signing = sign({
      iss: agentId,
      sub: agentId,
      aud: issuer,
      jti: randomUUID(),
      iat: now,
      exp: now + ASSERTION_SECONDS,
      ...(instance !== undefined && { instance }),
    });
    return withTimeout(timeoutMs, signing, () => new NotNow('The assertion was not signed in time.', DEFAULT_RETRY_MS));
  };
  const authenticated = async () => ({ client_assertion_type: ASSERTION, client_assertion: await assertion() });

  const exchanging = async () => ({
    grant_type: TOKEN_EXCHANGE,
    actor_token: await assertion(),
    actor_token_type: JWT,
  });
  const exchangeForm: ControlPlane['exchangeForm'] = async (request) => ({
    ...(await exchanging()),
    subject_token: request.subjectToken,
    subject_token_type: request.subjectTokenType ?? ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    resource: request.resource,
    scope: request.scope.join(' '),
    ...(request.purpose !== undefined && { purpose: request.purpose }),
  });

  return {
    tokenEndpoint: `${issuer}${TOKEN_PATH}`,
    exchangeForm,
    async exchange(request) {
      const at = clock.now();
      const answer = await send(options, TOKEN_PATH, await exchangeForm(request));
      if (answer.status !== 200) throw refusalOf(answer);
      return readIssuedToken(answer.body, { at, scope: request.scope });
    },
    async renew(held, resource, scope) {
      const at = clock.now();
      const answer = await send(options, TOKEN_PATH, {
        grant_type: 'refresh_token',
        refresh_token: held.grant,
        resource,
        ...(scope !== undefined && { scope: scope.join(' ') }),
        ...(await authenticated()),
      });
      if (answer.status === 200) {
        const narrowed = names(scope ?? held.scope).filter((name) => held.scope.includes(name));
        return readIssuedToken(answer.body, { at, scope: narrowed, task: held });
      }
      throw endedOr(refusalOf(answer), RENEWAL_ENDS);
    },
    async offer(held, { to, resource, scope }) {
      const at = clock.now();
      const answer = await send(options, TOKEN_PATH, {
        ...(await exchanging()),
        subject_token: held.grant,
        subject_token_type: REFRESH_TOKEN,
        requested_token_type: JWT,
        audience: `${AGENT_PREFIX}${to}`,
        resource,
        scope: scope.join(' '),
      });
      if (answer.status === 200) return readIssuedOffer(answer.body, { at, scope });
      throw endedOr(refusalOf(answer), ENDS);
    },
    async revoke(grant) {
      const form = { token: grant, token_type_hint: 'refresh_token', ...(await authenticated()) };
      const answer = await send(options, '/oauth2/revoke', form);
      if (answer.status !== 200) throw refusalOf(answer);
    },
  };
}

/** The refusal, or a TaskOver if it ends the task for the agent. */
function endedOr(refusal: Refused, ends: ReadonlySet<string>): Refused | TaskOver {
  const end = [refusal.reason, refusal.error].find((code): code is TaskEnd => code !== undefined && ends.has(code));
  return end === undefined ? refusal : new TaskOver(end);
}

interface Answer {
  readonly status: number;
  /** How far this clock is ahead of the answer's `Date`, in milliseconds. `undefined` without one. */
  readonly aheadMs: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  /** The form that was answered. */
  readonly sent: Readonly<Record<string, string>>;
}

/** @throws NotNow */
async function send(
  { issuer, fetch, timeoutMs, clock }: CheckedAgentOptions,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const request = { method: 'POST', body: new URLSearchParams(form), headers: { accept: 'application/json' } };
  const answer = await fetchAnswer(fetch, `${issuer}${path}`, request, timeoutMs).catch(() => {
    // The cause is dropped, because it may hold the request. It is unknown whether the control plane decided.
    throw new NotNow('The control plane could not be reached, or did not answer in time.', DEFAULT_RETRY_MS);
  });
  const { status } = answer;
  if (status === 429 || status >= 500) {
    throw new NotNow('The control plane is busy.', retryAfterMs(answer.headers.get('retry-after'), clock.now()));
  }
  const date = Date.parse(answer.headers.get('date') ?? '');
  const aheadMs = Number.isNaN(date) ? undefined : clock.now() - date;
  return { status, aheadMs, body: objectOf(answer.text), sent: form };
}

function objectOf(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Reads the header, which holds seconds or a date (RFC 9110 §10.2.3). */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null) return DEFAULT_RETRY_MS;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_SECONDS * 1000) : DEFAULT_RETRY_MS;
}

function refusalOf({ body, aheadMs = 0, sent }: Answer): Refused {
  const [error, reason] = [body.error, body.reason].map((code) =>
    typeof code === 'string' && CODE.test(code) ? code : undefined,
  );
  // The control plane does not say which check an assertion failed. A wrong clock is the one that the agent can see.
  // Rounds down, because `Date` has dropped the fraction of its second.
  const isAboutClock = error === 'invalid_client' && Math.abs(aheadMs) >= NOTABLE_MS;
  const clockAheadSeconds = isAboutClock ? Math.floor(aheadMs / 1000) : undefined;
  if (error === undefined) return new Refused('unexpected_answer', reason, clockAheadSeconds);
  return new Refused(error, reason, clockAheadSeconds, descriptionOf(body.error_description, sent));
}

/** RFC 6749 §5.2 allows these characters. The control plane's sentences are shorter. */
const DESCRIPTION = /^[\x20-\x21\x23-\x5B\x5D-\x7E]{1,400}$/;
/** Every token, grant and assertion is longer than this. The words of the control plane's sentences are shorter. */
const MAX_WORD = 40;
const CREDENTIALS = ['subject_token', 'actor_token', 'client_assertion', 'refresh_token', 'token'];
/** A part of a credential that is as long as this is one too. */
const PART = 16;

/**
 * The sentence of a refusal. The control plane never repeats a part of the request in it. A proxy or a faulty server may,
 * so a sentence that holds a part of a credential of the request, or a word as long as a credential, is dropped.
 */
function descriptionOf(given: unknown, sent: Answer['sent']): string | undefined {
  if (typeof given !== 'string' || !DESCRIPTION.test(given) || trimOws(given) === '') return undefined;
  const isLong = given.split(' ').some((word) => word.length > MAX_WORD);
  return isLong || CREDENTIALS.some((name) => isRepeated(sent[name], given)) ? undefined : given;
}

function isRepeated(credential: string | undefined, sentence: string): boolean {
  if (credential === undefined) return false;
  if (credential.length < PART) return sentence.includes(credential);
  // A server may have broken the credential into words.
  const text = sentence.replaceAll(' ', '');
  for (let at = 0; at + PART <= text.length; at++) {
    if (credential.includes(text.slice(at, at + PART))) return true;
  }
  return false;
}

/** A random addition of up to half of each wait, so that agents that were refused together do not retry together. */
const JITTER = 0.5;
/** Without `Retry-After` the wait doubles from 500 ms to this. */
const MAX_BACKOFF_MS = 8000;

interface RetryOptions {
  readonly clock: AgentClock;
  /** No retry begins later than this after the first attempt. */
  readonly patienceMs: number;
}

/**
 * Repeats an attempt that failed with NotNow, with exponential backoff and jitter (RFC 9110 §10.2.3).
 *
 * @param attempt throws NotNow if it may be repeated
 * @param mayRetry is called before each wait. If it returns false, the NotNow is rethrown
 */
export async function retryWithBackoff<Answer>(
  { clock, patienceMs }: RetryOptions,
  attempt: () => Promise<Answer>,
  mayRetry: () => boolean = () => true,
): Promise<Answer> {
  const deadline = clock.now() + patienceMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof NotNow) || !mayRetry()) throw error;
      const least = Math.max(error.retryAfterMs, Math.min(500 * 2 ** failures, MAX_BACKOFF_MS));
      const waitMs = least * (1 + JITTER * clock.random());
      if (clock.now() + waitMs > deadline) throw error;
      await clock.sleep(waitMs);
    }
  }
}
