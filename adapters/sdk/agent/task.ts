/** One task: a token that is always fresh, for as long as the task lasts. */

import type { ControlPlane } from './control-plane.ts';
import { NotNow, Refused, TaskOver } from './errors.ts';
import { type IssuedToken, names } from './issued-token.ts';
import type { CheckedAgentOptions } from './options.ts';
import { retryWithBackoff } from './retry-with-backoff.ts';
import { sendingFetch } from './sending-fetch.ts';

export interface Task {
  readonly id: string;
  readonly resource: string;
  /** When nothing renews it any more, by the control plane's clock. */
  readonly expiresAt: Date;
  /** What its token carries: never more than was asked for, and possibly less. */
  readonly scope: readonly string[];
  /**
   * A token that works now. It is renewed once 60% of its life have passed, by one request however many callers wait.
   *
   * @throws TaskOver for good; NotNow when there is no token that works, and patience is at its end; Refused
   */
  token(): Promise<string>;
  /**
   * Gives up all but these scopes, for good; answers those that are left.
   *
   * @throws as `token()`; Refused, with nothing sent, when one of them was given up before
   */
  narrow(scope: readonly string[]): Promise<readonly string[]>;
  /** `fetch` with the task's token, and only to where the token is meant for. @throws as `token()`, TypeError, as `fetch` */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Revokes the task. From the moment of the call no token is given out any more; a repeat does nothing once the
   * control plane has agreed. @throws NotNow, Refused: it was not told, and the task lasts until it expires
   */
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Specification "POST /oauth2/token": clients renew at about 60% of expires_in. */
const RENEWED_AT = 0.6;
/** A token that has less left than this may be refused before it has arrived. */
const USABLE_MS = 5000;

/** By how much clocks are set while they run; more is somebody putting them back. */
const SET_BACK_MS = 1000;
/** How long a no to a renewal stands before it is asked for again, by however many. */
const REFUSAL_STANDS_MS = 1000;

/** Ends after which the control plane has nothing left to revoke. */
const FINAL: ReadonlySet<TaskOver['reason']> = new Set(['task_revoked', 'task_expired', 'invalid_grant']);

export interface TaskRequest {
  readonly resource: string;
  /** Where `fetch` may send the token. */
  readonly origins: readonly string[];
}

export function renewingTask(
  options: CheckedAgentOptions,
  plane: ControlPlane,
  { resource, origins }: TaskRequest,
  first: IssuedToken,
): Task {
  const { clock, patienceMs } = options;
  let current = first;
  /** The latest time that was seen with the token at hand. */
  let latest = first.askedAt;
  let over: TaskOver | undefined;
  /** One renewal for however many wait for it. */
  let renewing: Promise<void> | undefined;
  /** Renewals wait for it: of two answers that overlap, the later might hold the wider scope. */
  let narrowing: Promise<void> | undefined;
  let ending: Promise<void> | undefined;
  /** The control plane asked to be left alone, or said no. */
  let held: { readonly from: number; readonly until: number; readonly refused?: Refused } | undefined;

  /** How long the token has lived: for ever, once the clock was put back and nobody can say. */
  const age = (): number => {
    const now = clock.now();
    latest = now < latest - SET_BACK_MS ? Number.POSITIVE_INFINITY : Math.max(now, latest);
    return latest - current.askedAt;
  };
  const isGivenUp = (name: string) => first.scope.includes(name) && !current.scope.includes(name);
  const isUsable = () => age() < current.expiresInMs - USABLE_MS;
  // What ends with its task can't be renewed to live longer.
  const isFresh = () => (current.isLast ? isUsable() : age() < current.expiresInMs * RENEWED_AT);
  const hold = (ms: number, refused?: Refused): void => {
    const from = clock.now();
    held = { from, until: from + ms, ...(refused === undefined ? {} : { refused }) };
  };
  /** How long to leave the control plane alone; not at all when that was said later than now. */
  const heldMs = (): number => {
    const now = clock.now();
    return held === undefined || now < held.from ? 0 : Math.max(0, held.until - now);
  };

  const renew = async (scope: readonly string[] | undefined): Promise<void> => {
    if (over !== undefined) throw over;
    // What was given up is never asked for again, lest a control plane that is wrong gives it back.
    if (scope !== undefined && names(scope).some(isGivenUp)) throw new Refused('invalid_scope', 'scope_given_up');
    const early = heldMs();
    if (early > patienceMs) throw new NotNow('The control plane is busy.', early);
    if (early > 0) await clock.sleep(early);
    try {
      const renewed = await retryWithBackoff(
        { clock, patienceMs: patienceMs - early },
        () => {
          if (over !== undefined) throw over;
          return plane.renew(current, resource, scope);
        },
        // Whoever only wants a token can have the one there is.
        () => scope !== undefined || !isUsable(),
      );
      current = renewed;
      latest = renewed.askedAt;
      held = undefined;
    } catch (error) {
      if (error instanceof TaskOver) over ??= error;
      else if (error instanceof NotNow) hold(error.retryAfterMs);
      // Of a narrowing it is a no to those scopes, and says nothing of renewals.
      else if (error instanceof Refused && scope === undefined) hold(REFUSAL_STANDS_MS, error);
      throw error;
    }
  };

  const freshen = async (): Promise<void> => {
    while (narrowing !== undefined) await settled(narrowing);
    if (over !== undefined || isFresh()) return;
    const isHeld = heldMs() > 0;
    if (isHeld && held?.refused !== undefined) throw held.refused;
    if (isHeld && isUsable()) return;
    renewing ??= renew(undefined).finally(() => {
      renewing = undefined;
    });
    await renewing.catch((error) => {
      // What a signer throws of its own decides nothing either, as long as there is a token that works.
      if (error instanceof TaskOver || error instanceof Refused || !isUsable()) throw error;
    });
  };

  const task: Task = {
    id: first.taskId,
    resource,
    expiresAt: first.taskExpiresAt,
    get scope() {
      return current.scope;
    },
    async token() {
      await freshen();
      if (over !== undefined) throw over;
      return current.token;
    },
    async narrow(scope) {
      if (scope.length === 0) throw new TypeError('scope must name at least one scope.');
      while (narrowing !== undefined) await settled(narrowing);
      // It is set before anything is waited for, so that no renewal begins meanwhile.
      narrowing = settled(renewing ?? Promise.resolve())
        .then(() => renew(scope))
        .finally(() => {
          narrowing = undefined;
        });
      await narrowing;
      return current.scope;
    },
    fetch: (input, init) => sendingFetch(options.fetch, task.token, origins)(input, init),
    async end() {
      if (over !== undefined && FINAL.has(over.reason)) return;
      // An answer that is still on its way is nobody's any more.
      over ??= new TaskOver('ended');
      ending ??= retryWithBackoff(options, () => plane.revoke(current.grant)).catch((error) => {
        ending = undefined;
        throw error;
      });
      await ending;
    },
    [Symbol.asyncDispose]: () => task.end(),
  };
  return task;
}

/** Resolves when the other does, whatever comes of it. */
function settled(other: Promise<unknown>): Promise<void> {
  return other.then(
    () => undefined,
    () => undefined,
  );
}
