/**
 * The errors of `@mandate/agent`. A program must distinguish four cases: the task is over for the agent (stop), the
 * control plane is temporarily unavailable (retry later), the request is refused (change it), a person has to approve the
 * call (repeat it afterwards). An error holds nothing of a request. Of an answer it holds codes of a fixed form, the
 * address of the control plane's page, and its sentence.
 */

import { checkArguments, must, optional, optionsOf, text } from '../arguments.ts';

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
  /** Only of a task that another agent has handed over: a task above it is over, or an agent above it is disabled. */
  | 'parent_ended'
  | 'ancestor_disabled'
  /** Only of such a task: its agents may no longer hand work to each other, or not in a chain so long. */
  | 'delegation_not_allowed'
  | 'delegation_depth_exceeded'
  /** The control plane does not know the grant. */
  | 'invalid_grant'
  | 'access_denied'
  | 'ended';

const milliseconds = must('be a number of milliseconds', (value) => typeof value === 'number' && value >= 0);
const REFUSED = optionsOf({
  error: text,
  reason: optional(text),
  clockAheadSeconds: optional(must('be a number of seconds', Number.isFinite)),
  errorDescription: optional(text),
});

const APPROVAL_REQUIRED = optionsOf({ approvalUri: text, retryAfterMs: milliseconds, remark: optional(text) });

/**
 * The task is over for the agent: the library does not renew it again.
 *
 * @example
 * ```ts
 * import { TaskOver } from '@mandate/agent';
 *
 * try {
 *   await task.token();
 * } catch (error) {
 *   if (!(error instanceof TaskOver)) throw error;
 *   console.log(`Stop: ${error.reason}`);
 * }
 * ```
 */
export class TaskOver extends Error {
  override readonly name = 'TaskOver';
  readonly reason: TaskEnd;

  constructor(reason: TaskEnd) {
    checkArguments('new TaskOver', { reason }, optionsOf({ reason: text }));
    super(`The task is over: ${reason}.`);
    this.reason = reason;
  }
}

/**
 * The control plane is temporarily unavailable: it did not decide, or its decision did not arrive.
 *
 * @example
 * ```ts
 * import { NotNow } from '@mandate/agent';
 *
 * try {
 *   await agent.startTask({ subjectToken, resource, scope: ['jira:read'] });
 * } catch (error) {
 *   if (!(error instanceof NotNow)) throw error;
 *   console.log(`Try again in ${error.retryAfterMs} ms.`);
 * }
 * ```
 */
export class NotNow extends Error {
  override readonly name = 'NotNow';
  /** Milliseconds to wait before a retry. */
  readonly retryAfterMs: number;

  constructor(what: string, retryAfterMs: number) {
    checkArguments('new NotNow', { what, retryAfterMs }, optionsOf({ what: text, retryAfterMs: milliseconds }));
    super(`${what} Try again in ${Math.ceil(retryAfterMs / 1000)} s.`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * A person has to approve the call. After that, the same call goes through once.
 *
 * @example
 * ```ts
 * import { ApprovalRequired } from '@mandate/agent';
 *
 * try {
 *   await task.fetch(`${resource}/issues/OPS-7`, { method: 'DELETE' });
 * } catch (error) {
 *   if (!(error instanceof ApprovalRequired)) throw error;
 *   console.log(`Approve it, then the call can be repeated: ${error.approvalUri}`);
 * }
 * ```
 */
export class ApprovalRequired extends Error {
  override readonly name = 'ApprovalRequired';
  /** The control plane's page where the person approves or refuses the call. Show it to the person. */
  readonly approvalUri: string;
  /** Milliseconds to wait before the call is repeated. */
  readonly retryAfterMs: number;

  /** @param remark why `fetch` did not wait although it was asked to */
  constructor(approvalUri: string, retryAfterMs: number, remark?: string) {
    checkArguments('new ApprovalRequired', { approvalUri, retryAfterMs, remark }, APPROVAL_REQUIRED);
    super([remark, `A person has to approve this call: ${approvalUri}`].filter((part) => part).join(' '));
    this.approvalUri = approvalUri;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Why the library refuses a successful answer: it does not fit the request. */
export type Unacceptable = 'scope_wider_than_asked' | 'another_task' | 'outlives_its_task';

/**
 * The request is refused. Another scope, resource, person or key may be accepted.
 *
 * @example
 * ```ts
 * import { Refused } from '@mandate/agent';
 *
 * try {
 *   await agent.startTask({ subjectToken, resource, scope: ['jira:everything'] });
 * } catch (error) {
 *   if (!(error instanceof Refused)) throw error;
 *   console.log(error.error, error.errorDescription);
 * }
 * ```
 */
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
   * `no_scope_named`: a tool server of MCP refused a call, and more scopes would not help. No scopes were requested.
   * `offer_unreadable`: the text that `takeUp` got is no offer. No request was sent.
   */
  readonly reason: string | undefined;

  /**
   * With `invalid_client`, if this machine's clock differs from the answer's `Date` by 30 seconds or more: by how many
   * seconds it is ahead; negative if it is behind. Probably the assertion was refused for its times.
   */
  readonly clockAheadSeconds: number | undefined;

  /**
   * The control plane's sentence about the refusal, the `error_description` of its answer. `undefined` if the answer has
   * no sentence, or one that is not safe to show.
   */
  readonly errorDescription: string | undefined;

  constructor(error: string, reason: string | undefined, clockAheadSeconds?: number, errorDescription?: string) {
    checkArguments('new Refused', { error, reason, clockAheadSeconds, errorDescription }, REFUSED);
    const codes = `${error}${reason === undefined ? '' : ` (${reason})`}`;
    const more = [errorDescription, clockSentence(clockAheadSeconds)].filter((sentence) => sentence);
    super([`${sentenceOf(error, reason)}: ${codes}.`, ...more].join(' '));
    this.error = error;
    this.reason = reason;
    this.clockAheadSeconds = clockAheadSeconds;
    this.errorDescription = errorDescription;
  }
}

function clockSentence(aheadSeconds = 0): string {
  if (aheadSeconds === 0) return '';
  const direction = aheadSeconds > 0 ? 'ahead of' : 'behind';
  return `This machine's clock is ${Math.abs(aheadSeconds)} s ${direction} the control plane's.`;
}

function sentenceOf(error: string, reason: string | undefined): string {
  if (error === 'unexpected_answer') return 'The answer of the control plane was not accepted';
  if (reason === 'offer_unreadable') return 'The text is no offer of another agent';
  if (reason === 'no_scope_named') return 'The tool server refused, and names no scope that the task lacks';
  return reason === 'scope_given_up' ? 'The task has given up this scope' : 'The control plane refused';
}
