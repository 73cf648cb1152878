/**
 * The agent's requests to the control plane (specification "POST /oauth2/token", "POST /oauth2/revoke"): each once, each
 * with an assertion of its own, each with an answer or one of the errors of errors.ts.
 */

import { randomUUID } from 'node:crypto';
import type { SignAssertion } from './agent-key.ts';
import { NotNow, Refused, type TaskEnd, TaskOver } from './errors.ts';
import { type IssuedToken, names, readIssuedToken } from './issued-token.ts';
import type { CheckedAgentOptions } from './options.ts';

export interface ControlPlane {
  /** @throws Refused, NotNow */
  exchange(request: ExchangeRequest): Promise<IssuedToken>;
  /** @param scope to narrow to, for good. @throws TaskOver, Refused, NotNow */
  renew(held: IssuedToken, resource: string, scope?: readonly string[]): Promise<IssuedToken>;
  /** Ends the task of a grant. @throws Refused, NotNow */
  revoke(grant: string): Promise<void>;
}

export interface ExchangeRequest {
  readonly subjectToken: string;
  readonly resource: string;
  readonly scope: readonly string[];
}

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Long enough for one request, and short in the hands of whoever reads it on the way. */
const ASSERTION_SECONDS = 60;
/** What an answer of ours comes to is a few kilobytes. */
const MAX_BYTES = 64 * 1024;
/** Where the control plane does not say how long to wait. */
const DEFAULT_RETRY_MS = 1000;
/** RFC 6749 §5.2: what may be repeated of an answer that says no. */
const CODE = /^[a-z_]{1,64}$/;

/** Those that end a renewal for good, by `reason` or else by `error`. */
const ENDS: ReadonlySet<string> = new Set<TaskEnd>([
  'task_revoked',
  'task_expired',
  'task_ending',
  'agent_disabled',
  'sponsor_disabled',
  'sponsor_not_found',
  'invalid_grant',
  'access_denied',
]);

export function controlPlane(options: CheckedAgentOptions, sign: SignAssertion): ControlPlane {
  const { issuer, agentId, instance, clock, timeoutMs } = options;

  const assertion = (): Promise<string> => {
    const now = Math.floor(clock.now() / 1000);
    const signing = sign({
      ...{ iss: agentId, sub: agentId, aud: issuer, jti: randomUUID(), iat: now, exp: now + ASSERTION_SECONDS },
      ...(instance === undefined ? {} : { instance }),
    });
    return inTime(timeoutMs, signing, () => new NotNow('The assertion was not signed in time.', DEFAULT_RETRY_MS));
  };
  const authenticated = async () => ({ client_assertion_type: ASSERTION, client_assertion: await assertion() });

  return {
    async exchange({ subjectToken, resource, scope }) {
      const at = clock.now();
      const answer = await send(options, '/oauth2/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: subjectToken,
        subject_token_type: ACCESS_TOKEN,
        actor_token: await assertion(),
        actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        requested_token_type: ACCESS_TOKEN,
        resource,
        scope: scope.join(' '),
      });
      if (answer.status !== 200) throw refusalOf(answer);
      return readIssuedToken(answer.body, { at, scope });
    },
    async renew(held, resource, scope) {
      const at = clock.now();
      const answer = await send(options, '/oauth2/token', {
        grant_type: 'refresh_token',
        refresh_token: held.grant,
        resource,
        ...(scope === undefined ? {} : { scope: scope.join(' ') }),
        ...(await authenticated()),
      });
      if (answer.status === 200) {
        const narrowed = names(scope ?? held.scope).filter((name) => held.scope.includes(name));
        return readIssuedToken(answer.body, { at, scope: narrowed, task: held });
      }
      const refusal = refusalOf(answer);
      const end = [refusal.reason, refusal.error].find((code): code is TaskEnd => code !== undefined && ENDS.has(code));
      throw end === undefined ? refusal : new TaskOver(end);
    },
    async revoke(grant) {
      const form = { token: grant, token_type_hint: 'refresh_token', ...(await authenticated()) };
      const answer = await send(options, '/oauth2/revoke', form);
      if (answer.status !== 200) throw refusalOf(answer);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** @throws NotNow */
async function send(
  { issuer, fetch, timeoutMs, clock }: CheckedAgentOptions,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const aborting = new AbortController();
  const exchanged = (async () => {
    const response = await fetch(`${issuer}${path}`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { accept: 'application/json' },
      // Elsewhere is not the control plane: what is sent here proves who the agent is, and for whom it asks.
      redirect: 'error',
      signal: aborting.signal,
    });
    return { response, text: await readText(response) };
  })();
  try {
    const { response, text } = await inTime(timeoutMs, exchanged, () => new Error('too late'));
    const { status } = response;
    if (status === 429 || status >= 500) {
      throw new NotNow('The control plane is busy.', retryAfter(response.headers.get('retry-after'), clock.now()));
    }
    return { status, body: objectOf(text) };
  } catch (error) {
    if (error instanceof NotNow) throw error;
    // The cause may hold the request. What the control plane decided, if it did, is not known here.
    throw new NotNow('The control plane could not be reached, or did not answer in time.', DEFAULT_RETRY_MS);
  } finally {
    aborting.abort();
  }
}

/** Waits no longer than that: not for a fetch that does not mind its signal, nor for a signer that never signs. */
async function inTime<Value>(ms: number, work: Promise<Value>, tooLate: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws when it is too long, or not UTF-8 */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new RangeError('The answer is too long.');
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

function objectOf(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function retryAfter(header: string | null, now: number): number {
  if (header === null) return DEFAULT_RETRY_MS;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return ms > 0 ? ms : DEFAULT_RETRY_MS;
}

/** The member `error_description` is for people, and is left out: only codes are of a form that can be repeated. */
function refusalOf({ body }: Answer): Refused {
  const [error, reason] = [body.error, body.reason].map((code) =>
    typeof code === 'string' && CODE.test(code) ? code : undefined,
  );
  return new Refused(error ?? 'unexpected_answer', reason);
}
