/** A task whose token renews itself until the task ends. */

import { parseAgentId } from '../../../domain/identifiers.ts';
import { anyObject, type Checks, checkArguments, must, optional, optionsOf } from '../arguments.ts';
import { approvedFetch, type Waiting } from './approved-fetch.ts';
import { type ControlPlane, retryWithBackoff } from './control-plane.ts';
import { NotNow, Refused, TaskOver } from './errors.ts';
import { type IssuedToken, names } from './issued-token.ts';
import type { Offer } from './offer.ts';
import { agentScopes, audience, type CheckedAgentOptions } from './options.ts';

export interface Task {
  readonly id: string;
  readonly resource: string;
  /** When the task expires, by the control plane's clock. Its token cannot be renewed after that. */
  readonly expiresAt: Date;
  /** The scopes of the current token: the requested ones or fewer. */
  readonly scope: readonly string[];
  /**
   * Resolves to a token that works now. It is renewed after 60% of its lifetime. Concurrent callers share one request.
   *
   * @throws TaskOver once the task has ended; NotNow if no token works and `patienceMs` has passed; Refused
   */
  token(): Promise<string>;
  /**
   * Gives up all other scopes permanently. Resolves to the remaining scopes.
   *
   * @throws as `token()`; TypeError; Refused, without a request, if one of the scopes was given up before
   */
  narrow(scope: readonly string[]): Promise<readonly string[]>;
  /**
   * `fetch` with the task's token, to the task's origins only. If a person has to approve the call, it is repeated until
   * then (`onApproval` of `startTask`).
   *
   * @throws as `token()`; TypeError; as `fetch`; ApprovalRequired, if the person has not answered so far
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Offers a part of the task to another agent, which takes it up with `takeUp`, once, and soon: the offer expires within a
   * minute by default. Neither the token of this task nor its grant is given away (docs/sub-agents.md).
   *
   * @throws TaskOver once the task has ended; Refused, for example with the `reason` `delegation_not_allowed`; NotNow;
   * TypeError
   *
   * @example
   * ```ts
   * const offer = await task.handOver({ to: 'jira-reader', scope: ['jira:read'] });
   * await send(offer.text);
   * ```
   */
  handOver(request: HandOver): Promise<Offer>;
  /**
   * Revokes the task. From the call on, `token()` throws. After success, another call does nothing.
   *
   * @throws NotNow, Refused: the task was not revoked, and ends when it expires
   */
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface HandOver {
  /** The id of the agent that may take the offer up. It may be this agent: another run of the same program. */
  readonly to: string;
  /** The resource of this task, which is the default: no other can be handed over. */
  readonly resource?: string;
  /** At least one scope, of those that this task has. */
  readonly scope: readonly string[];
}

/** Specification "POST /oauth2/token": clients renew at about 60% of expires_in. */
const RENEWED_AT = 0.6;
/** A token that expires sooner may do so on its way to the tool server. */
const USABLE_MS = 5000;

/** Clock synchronization moves a clock back by less than this. A larger step means that the clock was set. */
const SET_BACK_MS = 1000;
/** After a refused renewal, all callers get the same refusal for this long. */
const REFUSAL_STANDS_MS = 1000;

/** After these ends the control plane has nothing to revoke. */
const FINAL: ReadonlySet<TaskOver['reason']> = new Set(['task_revoked', 'task_expired', 'invalid_grant']);

const NARROW = optionsOf({ scope: agentScopes });
const HAND_OVER = optionsOf({
  to: must(
    'be the id of an agent, without agent: before it',
    (value) => typeof value === 'string' && parseAgentId(value) !== undefined,
  ),
  resource: optional(audience),
  scope: agentScopes,
} satisfies Checks<HandOver>);
const FETCH = optionsOf({
  input: must('be a URL or its text', (value) => typeof value === 'string' || isUrl(value)),
  init: optional(anyObject),
});

interface TaskRequest {
  readonly resource: string;
  /** The origins to which `fetch` may send the token. */
  readonly origins: readonly string[];
  /** How `fetch` waits for an approval; `undefined` for a client of MCP, which does not use `fetch`. */
  readonly waiting: Waiting | undefined;
}

/** A task, its current token, and the requests under way. */
interface State {
  readonly options: CheckedAgentOptions;
  readonly plane: ControlPlane;
  readonly resource: string;
  /** The token of the exchange, which has every scope that the task ever had. */
  readonly first: IssuedToken;
  current: IssuedToken;
  /** The latest clock reading since `current` was requested. */
  latestSeen: number;
  ended: TaskOver | undefined;
  /** The renewal under way, shared by all callers. */
  renewing: Promise<void> | undefined;
  /** The narrowing under way. Renewals wait for it: a renewal answered later could bring the wider scope back. */
  narrowing: Promise<void> | undefined;
  ending: Promise<void> | undefined;
  /** No renewal is sent before `until`: the control plane is unavailable, or refused the last renewal. */
  backoff: { readonly from: number; readonly until: number; readonly refused: Refused | undefined } | undefined;
}

export function renewingTask(
  options: CheckedAgentOptions,
  plane: ControlPlane,
  { resource, origins, waiting }: TaskRequest,
  first: IssuedToken,
): Task {
  const state: State = {
    options,
    plane,
    resource,
    first,
    current: first,
    latestSeen: first.askedAt,
    ended: undefined,
    renewing: undefined,
    narrowing: undefined,
    ending: undefined,
    backoff: undefined,
  };

  const task: Task = {
    id: first.taskId,
    resource,
    expiresAt: first.taskExpiresAt,
    get scope() {
      return state.current.scope;
    },
    async token() {
      await freshen(state);
      if (state.ended !== undefined) throw state.ended;
      return state.current.token;
    },
    async narrow(scope) {
      checkArguments('task.narrow', { scope }, NARROW);
      await narrow(state, scope);
      return state.current.scope;
    },
    async fetch(input, init = {}) {
      const send = sendingFetch(options.fetch, task.token, origins);
      return approvedFetch(options, waiting, () => send(input, init), init);
    },
    async handOver(request) {
      checkArguments('task.handOver', request, HAND_OVER);
      return handOver(state, request);
    },
    end: () => end(state),
    [Symbol.asyncDispose]: () => task.end(),
  };
  return task;
}

/** Renews the token if it is no longer fresh. @throws as `Task.token` */
async function freshen(state: State): Promise<void> {
  while (state.narrowing !== undefined) await settled(state.narrowing);
  if (state.ended !== undefined || isFresh(state)) return;
  const isBackingOff = backoffMs(state) > 0;
  if (isBackingOff && state.backoff?.refused !== undefined) throw state.backoff.refused;
  if (isBackingOff && isUsable(state)) return;
  state.renewing ??= renew(state, undefined).finally(() => {
    state.renewing = undefined;
  });
  await state.renewing.catch((error) => {
    // Other errors, such as NotNow or a signer's own, are ignored while the current token works.
    if (error instanceof TaskOver || error instanceof Refused || !isUsable(state)) throw error;
  });
}

async function narrow(state: State, scope: readonly string[]): Promise<void> {
  while (state.narrowing !== undefined) await settled(state.narrowing);
  // Set before the next `await`, so that no renewal starts meanwhile.
  state.narrowing = settled(state.renewing ?? Promise.resolve())
    .then(() => renew(state, scope))
    .finally(() => {
      state.narrowing = undefined;
    });
  await state.narrowing;
}

async function handOver(state: State, { to, resource = state.resource, scope }: HandOver): Promise<Offer> {
  while (state.narrowing !== undefined) await settled(state.narrowing);
  refuseGivenUp(state, scope);
  try {
    return await retryWithBackoff(state.options, () => {
      if (state.ended !== undefined) throw state.ended;
      return state.plane.offer(state.current, { to, resource, scope });
    });
  } catch (error) {
    if (error instanceof TaskOver) state.ended ??= error;
    throw error;
  }
}

/** A scope that was given up is never requested again, because a faulty control plane could grant it. @throws Refused */
function refuseGivenUp({ first, current }: State, scope: readonly string[]): void {
  const isGivenUp = (name: string) => first.scope.includes(name) && !current.scope.includes(name);
  if (names(scope).some(isGivenUp)) throw new Refused('invalid_scope', 'scope_given_up');
}

/** @param scope the scopes to keep; `undefined` for a plain renewal */
async function renew(state: State, scope: readonly string[] | undefined): Promise<void> {
  const { clock, patienceMs } = state.options;
  if (state.ended !== undefined) throw state.ended;
  if (scope !== undefined) refuseGivenUp(state, scope);
  const early = backoffMs(state);
  if (early > patienceMs) throw new NotNow('The control plane is busy.', early);
  if (early > 0) await clock.sleep(early);
  try {
    const renewed = await retryWithBackoff(
      { clock, patienceMs: patienceMs - early },
      () => {
        if (state.ended !== undefined) throw state.ended;
        return state.plane.renew(state.current, state.resource, scope);
      },
      // A plain renewal does not wait while the current token works; a narrowing does.
      () => scope !== undefined || !isUsable(state),
    );
    state.current = renewed;
    state.latestSeen = renewed.askedAt;
    state.backoff = undefined;
  } catch (error) {
    if (error instanceof TaskOver) state.ended ??= error;
    else if (error instanceof NotNow) backOff(state, Math.min(error.retryAfterMs, longestBackoff(state)), undefined);
    // A refused narrowing says nothing about renewals, so they continue.
    else if (error instanceof Refused && scope === undefined) backOff(state, REFUSAL_STANDS_MS, error);
    throw error;
  }
}

async function end(state: State): Promise<void> {
  if (state.ended !== undefined && FINAL.has(state.ended.reason)) return;
  // Set before the request, so that a renewal that is answered later gives out no token.
  state.ended ??= new TaskOver('ended');
  state.ending ??= retryWithBackoff(state.options, () => state.plane.revoke(state.current.grant)).catch((error) => {
    state.ending = undefined;
    throw error;
  });
  await state.ending;
}

/** The token's age in milliseconds. Infinite after the clock was set back, because the real age is then unknown. */
function age(state: State): number {
  const now = state.options.clock.now();
  const { latestSeen } = state;
  state.latestSeen = now < latestSeen - SET_BACK_MS ? Number.POSITIVE_INFINITY : Math.max(now, latestSeen);
  return state.latestSeen - state.current.askedAt;
}

function isUsable(state: State): boolean {
  return age(state) < state.current.expiresInMs - USABLE_MS;
}

/** A token that expires with its task cannot be renewed for longer, so it is used until it expires. */
function isFresh(state: State): boolean {
  const { isLast, expiresInMs } = state.current;
  return isLast ? isUsable(state) : age(state) < expiresInMs * RENEWED_AT;
}

function backOff(state: State, ms: number, refused: Refused | undefined): void {
  const from = state.options.clock.now();
  state.backoff = { from, until: from + ms, refused };
}

/** Milliseconds until a renewal may be sent. 0 if the clock was set back to before the backoff began. */
function backoffMs({ options, backoff }: State): number {
  const now = options.clock.now();
  return backoff === undefined || now < backoff.from ? 0 : Math.max(0, backoff.until - now);
}

/** At most half of the time for which the token still works, so that a late answer does not use up all of it. */
function longestBackoff(state: State): number {
  return isUsable(state) ? (state.current.expiresInMs - age(state)) / 2 : Number.POSITIVE_INFINITY;
}

/** Resolves when the promise is settled. Never rejects. */
function settled(other: Promise<unknown>): Promise<void> {
  return other.then(
    () => undefined,
    () => undefined,
  );
}

/**
 * A `fetch` that adds the task's token, and sends it to the task's origins only.
 *
 * @param token resolves to a token that works now
 * @param origins the only allowed targets, because the token carries a person's authority
 */
function sendingFetch(
  fetch: typeof globalThis.fetch,
  token: () => Promise<string>,
  origins: readonly string[],
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init = {}) => {
    checkArguments('task.fetch', { input, init }, FETCH);
    const url = URL.canParse(String(input)) ? new URL(String(input)) : undefined;
    if (url === undefined || !origins.includes(url.origin)) {
      throw new TypeError('The origin of the address is not one of the origins of this task.');
    }
    const headers = headersOf(init);
    headers.set('authorization', `Bearer ${await token()}`);
    // A redirect could carry the token or the request to another origin, so it is never followed.
    const redirect = init.redirect === 'manual' ? 'manual' : 'error';
    return fetch(url, { ...init, headers, redirect });
  };
}

/** The runtime's error would quote the header. @throws TypeError */
function headersOf({ headers }: RequestInit): Headers {
  try {
    return new Headers(headers);
  } catch {
    throw new TypeError('task.fetch: init.headers must be HTTP headers: names and values of their allowed characters.');
  }
}

/** By its member: a test framework may have its own class URL. A Request has none. */
function isUrl(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'href' in value && typeof value.href === 'string';
}
