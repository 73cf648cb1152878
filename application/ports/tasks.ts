import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId, TokenId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Scope } from '../../domain/scope.ts';
import type { BlockKind } from '../../domain/sponsors/block.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import type { Grant, Revocation, Task } from '../../domain/tasks/task.ts';
import type { TokenFacts } from '../../domain/tasks/token-status.ts';

/** SHA-256 of a task grant, in lowercase hex. The grant itself is never stored. */
export type GrantHash = string;

/** A client assertion's one use (decisions "Client assertions"). */
export interface SpentAssertion {
  readonly agentId: AgentId;
  readonly jti: string;
  /** From this time the assertion is expired, and its `jti` can be forgotten. */
  readonly forgetAt: Instant;
  /** The agent's `client_assertion` of the same exchange, with another `jti`. Both are used up together. */
  readonly clientAssertion?: Omit<SpentAssertion, 'agentId' | 'clientAssertion'> | undefined;
}

/** A reason that prevented a decision. Nothing was written. */
export type Obstacle =
  /** The assertion was used before, by the decision that committed first. */
  | { readonly kind: 'replayed' }
  /** The agent's revision is no longer the judged one: judge again. */
  | { readonly kind: 'agent_changed' }
  /** The person is blocked; `block` is the kind of the block placed first. */
  | { readonly kind: 'sponsor_blocked'; readonly block: BlockKind };

export interface TaskOpening {
  readonly task: Task;
  readonly grantHash: GrantHash;
  readonly assertion: SpentAssertion;
  /** The revision that was judged. */
  readonly agentRevision: Agent['revision'];
  /** Set if remembered logouts refuse tasks: the `iat` of the subject token (Signals.logOut, `remember`). */
  readonly refuseLoggedOut?: Pick<Person, 'issuedAt'> | undefined;
  /** The `token.issued` entry. */
  readonly entry: LedgerEntry;
}

export interface Renewal {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly sponsorKey: SponsorKey;
  readonly grantHash: GrantHash;
  /** The grant's scope when the request was judged. */
  readonly grantScope: Scope;
  /** The grant's new scope. */
  readonly scope: Scope;
  readonly assertion: SpentAssertion;
  readonly agentRevision: Agent['revision'];
  /** Whether every renewal gets its own record. Otherwise renewals after the first are only counted on the grant. */
  readonly recordEach: boolean;
  /** The `token.refreshed` entry: appended for the task's first renewal, and with `recordEach` for every one. */
  readonly entry: LedgerEntry;
}

/** One task, or all tasks of an agent or of a person. */
export type TaskSelection =
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'agent'; readonly agentId: AgentId }
  | { readonly kind: 'sponsor'; readonly sponsorKey: SponsorKey };

export type EndOutcome =
  | { readonly kind: 'ended'; readonly tasks: number }
  /** The task or agent does not exist. Never for a person: the service has no list of all people. */
  | { readonly kind: 'not_found' };

/**
 * Tasks, their grants and tokens. Each writing method is one decision in one transaction. It locks the person, the
 * session and the agent before it reads what they decide. Then it writes everything (task, grant, used assertion,
 * ledger entries) or nothing. Of two concurrent decisions one therefore sees the other: an exchange waits for a running
 * block and is refused; a block that comes later ends the new task.
 *
 * All methods may throw StorageUnavailable; whether a writing one was applied is then unknown.
 */
export interface Tasks {
  /**
   * Opens a task with its grant and first token. In the other cases nothing was written:
   * - `parent_ended`: the parent task is not stored, not live, or over by the new task's `createdAt`. Opening waits for
   *   a running end of the parent; an end of the parent that comes later ends the new task too.
   * - `logged_out`, only with `refuseLoggedOut`: a remembered logout covers the task's session, or the person and the
   *   token was not issued after it. A token without `iat` counts as issued before.
   */
  open(opening: TaskOpening): Promise<{ readonly kind: 'opened' | 'parent_ended' | 'logged_out' } | Obstacle>;

  /** The grant, if it was issued to this agent; `undefined` for another agent's. */
  findGrant(agentId: AgentId, grantHash: GrantHash): Promise<Grant | undefined>;

  /**
   * Counts a renewal. `grant_changed`: the grant's scope is no longer `grantScope`, or the grant or its task was
   * revoked, or the sweeper has recorded the task's expiry. Read the grant and judge again.
   */
  renew(renewal: Renewal): Promise<{ readonly kind: 'renewed' } | { readonly kind: 'grant_changed' } | Obstacle>;

  /**
   * Ends the task of a grant that was issued to this agent, and all tasks delegated from it (`parent_revoked`), with
   * their grants. Appends per task: a `token.refreshed` summary that counts renewals without their own record, if there
   * are any, and then `task.revoked`.
   *
   * `already_ended`: the task had ended, or its time is up; it stays as it is, and nothing is appended. The assertion
   * is used up, except if the result is `replayed` or `not_found`. Then nothing is written, and the refusal that
   * follows uses it up.
   */
  revokeByGrant(
    revocation: Revocation,
    agentId: AgentId,
    grantHash: GrantHash,
    assertion: SpentAssertion,
  ): Promise<{ readonly kind: 'revoked' | 'already_ended' | 'not_found' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /**
   * Ends all selected live tasks at once, and all tasks delegated from them, as `revokeByGrant` does. Returns their
   * number; if it is 0, nothing is written. Waits for running decisions that could add a task to the selection, and
   * ends those tasks too. Later decisions see the end.
   */
  end(selection: TaskSelection, revocation: Revocation): Promise<EndOutcome>;

  /**
   * Revokes one token by its `jti` and appends `entry`. `already_revoked`: nothing changes and nothing is appended. The
   * revocation is kept until `forgetAt`. The assertion is used up in every case but `replayed`.
   */
  revokeToken(
    token: { readonly tokenId: TokenId; readonly taskId: TaskId; readonly forgetAt: Instant },
    revocation: Revocation,
    assertion: SpentAssertion,
    entry: LedgerEntry,
  ): Promise<{ readonly kind: 'revoked' | 'already_revoked' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /** Uses up the assertion of a request that changes nothing else. Of two concurrent uses one is `replayed`. */
  spend(assertion: SpentAssertion): Promise<{ readonly kind: 'spent' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /** The stored facts for an introspection; `undefined` if the task is not stored. */
  tokenFacts(tokenId: TokenId, taskId: TaskId): Promise<TokenFacts | undefined>;
}
