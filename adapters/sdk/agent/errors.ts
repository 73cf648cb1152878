/**
 * What can come of asking for authority, other than having it. A program has to tell apart "over" (stop), "not now"
 * (the same may succeed later) and "no" (this will not be granted, something else may). None of them ever holds what
 * was sent or answered, but for codes of a fixed form.
 */

/** Why a task is over, as the control plane says it, or `ended` where `end()` was called here. */
export type TaskEnd =
  | 'task_revoked'
  | 'task_expired'
  | 'task_ending'
  | 'agent_disabled'
  | 'sponsor_disabled'
  | 'sponsor_not_found'
  /** The control plane no longer knows the grant, or never did. */
  | 'invalid_grant'
  | 'access_denied'
  | 'ended';

/** The task is over for good: nothing renews it, and asking again is of no use. */
export class TaskOver extends Error {
  override readonly name = 'TaskOver';
  readonly reason: TaskEnd;

  constructor(reason: TaskEnd) {
    super(`The task is over: ${reason}.`);
    this.reason = reason;
  }
}

/** Nothing was decided, or nothing is known of it: the control plane was busy, away, or could not say. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
  /** How long to wait before asking again. */
  readonly retryAfterMs: number;

  constructor(what: string, retryAfterMs: number) {
    super(`${what} Try again in ${Math.ceil(retryAfterMs / 1000)} s.`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Why an answer that says yes is refused here: it gives more than was asked for, or something else. */
export type Unacceptable = 'scope_wider_than_asked' | 'another_task' | 'outlives_its_task';

/** A no to this request: another scope, resource, person or key may get a yes. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /**
   * RFC 6749 §5.2, RFC 8693 §2.2.2: `invalid_scope`, `invalid_target`, `invalid_client` and so on. `unexpected_answer` is
   * the library's own no, to an answer that is not one to the request.
   */
  readonly error: string;
  /**
   * With `access_denied`: what it was, such as `sponsor_disabled`. Of the library's own: an Unacceptable, or
   * `scope_given_up` where `narrow` was asked for a scope that the task had given up, and nothing was sent.
   */
  readonly reason: string | undefined;

  constructor(error: string, reason: string | undefined) {
    super(`${sentenceOf(error, reason)}: ${error}${reason === undefined ? '' : ` (${reason})`}.`);
    this.error = error;
    this.reason = reason;
  }
}

function sentenceOf(error: string, reason: string | undefined): string {
  if (error === 'unexpected_answer') return 'The answer of the control plane was not accepted';
  return reason === 'scope_given_up' ? 'The task has given up this scope' : 'The control plane refused';
}
