import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId, TokenId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Scope } from '../../domain/scope.ts';
import type { BlockKind } from '../../domain/sponsors/block.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import type { TokenFacts } from '../../domain/tasks/standing.ts';
import type { Grant, Revocation, Task } from '../../domain/tasks/task.ts';

/** SHA-256 of a task grant, in lowercase hex: the only form in which one is kept. */
export type GrantHash = string;

/** A client assertion's one use (decisions "Client assertions"). */
export interface SpentAssertion {
  readonly agentId: AgentId;
  readonly jti: string;
  /** When it could no longer be accepted anyway, and may be forgotten. */
  readonly forgetAt: Instant;
  /** The agent's `client_assertion` of the same exchange, with another `jti`: both are spent together. */
  readonly clientAssertion?: Omit<SpentAssertion, 'agentId' | 'clientAssertion'> | undefined;
}

/** What a decision found in its way; nothing was written. */
export type Obstacle =
  /** The assertion was used before, by whichever decision committed first. */
  | { readonly kind: 'replayed' }
  /** The agent is no longer at the revision that was judged: judge again. */
  | { readonly kind: 'agent_changed' }
  /** `block` is the kind of the person's block that was placed first. */
  | { readonly kind: 'sponsor_blocked'; readonly block: BlockKind };

export interface TaskOpening {
  readonly task: Task;
  readonly grantHash: GrantHash;
  readonly assertion: SpentAssertion;
  /** The registration that was judged. */
  readonly agentRevision: Agent['revision'];
  /** Present where remembered logouts refuse tasks: the `iat` of the subject token (Signals.logOut, `remember`). */
  readonly refuseLoggedOut?: Pick<Person, 'issuedAt'> | undefined;
  /** `token.issued`. */
  readonly entry: LedgerEntry;
}

export interface Renewal {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly sponsorKey: SponsorKey;
  readonly grantHash: GrantHash;
  /** The grant's scope as it was read and judged. */
  readonly grantScope: Scope;
  /** The grant's scope from now on. */
  readonly scope: Scope;
  readonly assertion: SpentAssertion;
  readonly agentRevision: Agent['revision'];
  /** Whether every renewal is recorded on its own; else later ones than the first are counted on the grant only. */
  readonly recordEach: boolean;
  /** `token.refreshed`: appended for the task's first renewal, and for later ones where `recordEach`. */
  readonly entry: LedgerEntry;
}

/** One task, or every task of an agent or of a person. */
export type TaskSelection =
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'agent'; readonly agentId: AgentId }
  | { readonly kind: 'sponsor'; readonly sponsorKey: SponsorKey };

export type EndOutcome =
  | { readonly kind: 'ended'; readonly tasks: number }
  /** There is no such task or agent; of a person nobody knows whether they exist. */
  | { readonly kind: 'not_found' };

/**
 * Tasks, their grants and tokens. Each writing method is one decision in one transaction: it takes its locks on the
 * person, the session and the agent before it reads what they decide, then writes everything (task, grant, spent
 * assertion, ledger entries) or nothing. So of two racing decisions one sees the other: an exchange that meets a block
 * under way waits and is refused, one that commits first is ended by it.
 *
 * All methods may throw StorageUnavailable; whether a writing one was applied is then unknown.
 */
export interface Tasks {
  /**
   * Opens a task with its grant and first token. `parent_ended`: the task that it is delegated from is not stored, not
   * live, or over by its `createdAt`; nothing was written. A parent that is being ended is waited for, and what ends one
   * ends what was opened below it before. `logged_out`, only with `refuseLoggedOut`: a remembered logout of the task's
   * session, or one of the person that the token was not issued after; nothing was written. A token without `iat` counts as
   * one from before.
   */
  open(opening: TaskOpening): Promise<{ readonly kind: 'opened' | 'parent_ended' | 'logged_out' } | Obstacle>;

  /** The grant, if it was issued to this agent; another's is as good as none. */
  findGrant(agentId: AgentId, grantHash: GrantHash): Promise<Grant | undefined>;

  /**
   * Counts a renewal. `grant_changed`: the grant's scope is not `grantScope` any more, or it or its task has been
   * revoked or expired by the sweeper; read it and judge again.
   */
  renew(renewal: Renewal): Promise<{ readonly kind: 'renewed' } | { readonly kind: 'grant_changed' } | Obstacle>;

  /**
   * Ends the task of a grant that was issued to this agent, and everything delegated from it (`parent_revoked`):
   * states and grants, and per task, when renewals of it have no record of their own, a `token.refreshed` summary
   * counting them, then `task.revoked`. A task that has ended already, or whose time is up, stays as
   * it is (`already_ended`) and nothing is appended. The assertion is spent, except where it was `replayed` or the grant was `not_found`:
   * then nothing is written, and the refusal that follows spends it.
   */
  revokeByGrant(
    revocation: Revocation,
    agentId: AgentId,
    grantHash: GrantHash,
    assertion: SpentAssertion,
  ): Promise<{ readonly kind: 'revoked' | 'already_ended' | 'not_found' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /**
   * Ends the selected tasks that are live, and everything delegated from them, as `revokeByGrant` does, and answers how
   * many that were: none the second time, and then nothing is written. However many there are, they end together. Waits
   * for decisions under way that could add to the selection, and ends what they add; those that come later see it.
   */
  end(selection: TaskSelection, revocation: Revocation): Promise<EndOutcome>;

  /**
   * Revokes one token by its `jti` and appends `entry`; a second time nothing changes and nothing is appended
   * (`already_revoked`). It is remembered until `forgetAt`. The assertion is spent in every case but `replayed`.
   */
  revokeToken(
    token: { readonly tokenId: TokenId; readonly taskId: TaskId; readonly forgetAt: Instant },
    revocation: Revocation,
    assertion: SpentAssertion,
    entry: LedgerEntry,
  ): Promise<{ readonly kind: 'revoked' | 'already_revoked' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /** Spends the assertion of a request that changes nothing else; of two at once one is `replayed`. */
  spend(assertion: SpentAssertion): Promise<{ readonly kind: 'spent' } | Extract<Obstacle, { kind: 'replayed' }>>;

  /** What introspection needs, as of now; `undefined` when the task is not stored. */
  tokenFacts(tokenId: TokenId, taskId: TaskId): Promise<TokenFacts | undefined>;
}
