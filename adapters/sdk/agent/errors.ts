/**
 * The errors of `@mandate/agent`. A program must distinguish three cases: the task is over for the agent (stop), the control plane is
 * temporarily unavailable (retry later), the request is refused (change it). Of a request or an answer, an error holds
 * only codes of a fixed form.
 */

/**
 * Why the agent must stop: the control plane's code for a refused renewal, or `ended` after a call of `end()`. At the
 * control plane the task may still be live, for example while the agent is disabled.
 */
export type TaskEnd =
  | 'task_revoked'
  | 'task_expired'
  | 'task_ending'
  | 'agent_disabled'
  | 'sponsor_disabled'
  | 'sponsor_not_found'
  /** The control plane does not know the grant. */
  | 'invalid_grant'
  | 'access_denied'
  | 'ended';

/** The task is over for the agent: the library does not renew it again. */
export class TaskOver extends Error {
  override readonly name = 'TaskOver';
  readonly reason: TaskEnd;

  constructor(reason: TaskEnd) {
    super(`The task is over: ${reason}.`);
    this.reason = reason;
  }
}

/** The control plane is temporarily unavailable: it did not decide, or its decision did not arrive. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
  /** Milliseconds to wait before a retry. */
  readonly retryAfterMs: number;

  constructor(what: string, retryAfterMs: number) {
    super(`${what} Try again in ${Math.ceil(retryAfterMs / 1000)} s.`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Why the library refuses a successful answer: it does not fit the request. */
export type Unacceptable = 'scope_wider_than_asked' | 'another_task' | 'outlives_its_task';

/** The request is refused. Another scope, resource, person or key may be accepted. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /**
   * A code of RFC 6749 §5.2 or RFC 8693 §2.2.2: `invalid_scope`, `invalid_target`, `invalid_client` and so on. With
   * `unexpected_answer` the library itself refuses an answer that does not fit the request.
   */
  readonly error: string;
  /**
   * With `access_denied`: the control plane's reason, for example `sponsor_disabled`. With `unexpected_answer`: an
   * Unacceptable. `scope_given_up`: the caller of `narrow` named a scope that the task has given up. No request was sent.
   */
  readonly reason: string | undefined;

  /**
   * With `invalid_client`, if this machine's clock differs from the answer's `Date` by 30 seconds or more: by how many
   * seconds it is ahead; negative if it is behind. Probably the assertion was refused for its times.
   */
  readonly clockAheadSeconds: number | undefined;

  constructor(error: string, reason: string | undefined, clockAheadSeconds?: number) {
    super(
      `${sentenceOf(error, reason)}: ${error}${reason === undefined ? '' : ` (${reason})`}.${clockSentence(clockAheadSeconds)}`,
    );
    this.error = error;
    this.reason = reason;
    this.clockAheadSeconds = clockAheadSeconds;
  }
}

function clockSentence(aheadSeconds = 0): string {
  if (aheadSeconds === 0) return '';
  const direction = aheadSeconds > 0 ? 'ahead of' : 'behind';
  return ` This machine's clock is ${Math.abs(aheadSeconds)} s ${direction} the control plane's.`;
}

function sentenceOf(error: string, reason: string | undefined): string {
  if (error === 'unexpected_answer') return 'The answer of the control plane was not accepted';
  return reason === 'scope_given_up' ? 'The task has given up this scope' : 'The control plane refused';
}
