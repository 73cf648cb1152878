/**
 * The facts that a decision can ask for. An engine takes the decision's locks first, and reads the facts in later
 * statements. So every fact includes all changes that were committed before.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { MayActName } from '../../domain/agents/may-act-name.ts';
import type { Approval } from '../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../domain/approvals/approval-records.ts';
import type { Authorization, VoidReason } from '../../domain/authorization/authorization.ts';
import type { AgentId, ApprovalId, RequestId, SponsorKey, TaskId, TokenId, UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Compared } from '../../domain/ledger/compared.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import type { FirstOperator } from '../../domain/operators/operator.ts';
import type { Session, SessionHash, SessionKind } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import type { OtherUsers } from '../../domain/signals/provisioning-statement.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import type { Grant, GrantHash, TaskState } from '../../domain/tasks/task.ts';
import type { TaskTerms } from '../../domain/tasks/token-of-task.ts';

/** Each fact: the type of what it is about, and the type of the answer. */
export interface Facts {
  /** A registered agent. */
  agent: Fact<AgentId, Agent | undefined>;
  /** The revision of a registered agent. */
  agent_revision: Fact<AgentId, number | undefined>;
  /** Whether the agent is registered and enabled. */
  agent_enabled: Fact<AgentId, boolean>;
  /**
   * Whether these names conflict with another agent. It has one of them in its `may_act_names`, its id is the `sub` of one,
   * or it has the id of this agent as a `sub`.
   */
  agent_name_taken: Fact<{ readonly agentId: AgentId; readonly names: readonly MayActName[] }, boolean>;
  /** Whether another agent has this URL as its `client_id_document`. */
  agent_document_taken: Fact<{ readonly agentId: AgentId; readonly uri: string }, boolean>;
  /** Whether any task of the agent is stored, live or ended. */
  agent_has_tasks: Fact<AgentId, boolean>;
  /** Those of these agents that are registered, in any order. */
  registered_agents: Fact<readonly AgentId[], readonly AgentId[]>;
  /** Whether another agent names the agent in its `delegates_to`. */
  agent_named_by_others: Fact<AgentId, boolean>;
  /** Oldest first (`blockedAt`, then source), at most one per source. */
  blocks: Fact<SponsorKey, readonly StatedBlock[]>;
  /**
   * Whether the person has a block, a provisioned user, a stored task, live or ended, an authorization that is open or
   * allowed, or has refused an agent's handing-over.
   */
  person_known: Fact<SponsorKey, boolean>;
  /** Whether the person refuses that the agent hands work to other agents. */
  delegation_refused: Fact<{ readonly sponsorKey: SponsorKey; readonly agentId: AgentId }, boolean>;
  /** The first operator's request to lift the person's block, if it awaits a second operator's. */
  pending_unblock: Fact<SponsorKey, PendingUnblock | undefined>;
  /**
   * Whether the assertion was used, or may have been: after a restore (`mandate after-restore`) the row with the agent and
   * `jti` '' counts for every assertion whose `latestForgetAt` is not after that row's `forget_at`.
   */
  assertion_spent: Fact<AssertionName & { readonly latestForgetAt: Instant }, boolean>;
  /** The stored logout of the session or person. */
  logout: Fact<LogoutName, LogoutTimes | undefined>;
  /**
   * Stored sessions of one kind, also expired ones: one, or those that a logout names. If a logout names a provider's
   * session and a person, the person's sessions without a `sid` too: any of them may be meant. Locks their rows until the
   * transaction ends, so that no other transaction closes them as well.
   */
  sessions: Fact<
    {
      readonly of: SessionKind;
      readonly which: { readonly kind: 'one'; readonly sessionHash: SessionHash } | LoggedOut;
    },
    readonly Session[]
  >;
  /** Whether a task of the person (`sub`) is live at `at` and belongs to no session. */
  live_task_without_session: Fact<{ readonly subject: string; readonly at: Instant }, boolean>;
  /** The task's state and expiry. */
  task_state: Fact<TaskId, { readonly state: TaskState['kind']; readonly expiresAt: Instant } | undefined>;
  /** A task from which others were delegated: its state, its expiry and its grant's scope. */
  delegating_task: Fact<TaskId, DelegatingFacts | undefined>;
  /** How many tasks that were delegated from this one, without another between them, are live at `at`. */
  live_children: Fact<{ readonly taskId: TaskId; readonly at: Instant }, number>;
  /** The task's person. */
  task_sponsor: Fact<TaskId, SponsorKey | undefined>;
  /** The values that the task's tokens repeat. */
  task_terms: Fact<TaskId, TaskTerms | undefined>;
  grant: Fact<GrantHash, GrantFacts | undefined>;
  /** The agent that the grant was issued to, its task and its person, who never change. */
  grant_owner: Fact<GrantHash, GrantOwner | undefined>;
  /**
   * The selected tasks that are live at `at`, and the live tasks delegated from them, directly or not. A task whose time
   * is up is not live: the sweeper records its expiry. `at` is therefore the earlier clock (`SharedTime`), and on Postgres
   * the database's if that is earlier still. Locks their rows until the transaction ends, so that no further task is
   * delegated from them. Revoking their grants waits for a running renewal, and counts it.
   */
  live_tasks: Fact<{ readonly selection: TaskSelection; readonly at: Instant }, LiveTasks>;
  /** Up to `limit` of all tasks that are live at `at`, and the live tasks delegated from them. Locks like `live_tasks`. */
  some_live_tasks: Fact<{ readonly limit: number; readonly at: Instant }, SomeLiveTasks>;
  /**
   * Up to `limit` live tasks that expired by `overBy`, earliest expiry first. Locks their rows like `live_tasks`, and
   * skips rows that another transaction has locked. The ids are in the order of creation.
   */
  due_tasks: Fact<{ readonly overBy: Instant; readonly limit: number }, readonly TaskId[]>;
  /**
   * Up to `limit` tasks that ended by `endedBy`, have no stored delegated task and no index of a status list, earliest
   * first. Skips locked rows.
   */
  ended_tasks: Fact<{ readonly endedBy: Instant; readonly limit: number }, readonly TaskId[]>;
  token_revoked: Fact<TokenId, boolean>;
  /** An approval, compared with its records in the ledger. It changes only under the lock of its task. */
  approval: Fact<ApprovalId, Compared<Approval, ApprovalOrigin> | undefined>;
  /** The last approval of this digest of the task, compared with its records. No earlier one is open. */
  last_approval: Fact<
    { readonly taskId: TaskId; readonly digest: string },
    Compared<Approval, ApprovalOrigin> | undefined
  >;
  /** How many approvals wait for the person of the task at `at`: all, those of its agent, and those of the task. */
  pending_approvals: Fact<
    { readonly taskId: TaskId; readonly at: Instant },
    { readonly ofTask: number; readonly ofAgent: number; readonly ofPerson: number }
  >;
  /** How often the agent has asked the person of the task, in the hour that was counted last. */
  asked_questions: Fact<{ readonly agentId: AgentId; readonly taskId: TaskId }, AskedQuestions | undefined>;
  /**
   * Up to `limit` open approvals whose time was up by `overBy`, while the time of their task is not: those are left to the
   * task's end. Locks the rows of their tasks, and skips locked ones.
   */
  due_approvals: Fact<{ readonly overBy: Instant; readonly limit: number }, readonly DueApproval[]>;
  /** An authorization in any state. */
  authorization: Fact<RequestId, Authorization | undefined>;
  /** The person's authorizations in the state `open`, the oldest first. */
  open_authorizations: Fact<SponsorKey, readonly RequestId[]>;
  /** The stored ends of everything, and of the agent. */
  authorization_ends: Fact<AgentId, AuthorizationEnds>;
  signal_accepted: Fact<SignalName, boolean>;
  user_revision: Fact<UserId, number | undefined>;
  /** The user with this name. The name has the form in which names are compared (`userNameKey`). */
  user_named: Fact<string, UserId | undefined>;
  user_count: Fact<null, number>;
  /** Free indices in the audience's oldest open status list; `undefined` if the audience has no open list. */
  status_slot: Fact<StatusDraws, StatusSlot | undefined>;
  /**
   * The candidates that tasks hold. SQLite looks no further than the first free one. Costs a quarter of `status_slot`,
   * but two concurrent transactions may both see an index free.
   */
  taken_status_indices: Fact<StatusCandidates, readonly number[]>;
  /** The audience's oldest open status list. */
  open_status_list: Fact<string, OpenStatusList | undefined>;
  /** The keys with this use, in the order of their first use. */
  log_keys: Fact<LogKey['use'], readonly LogKey[]>;
  /** The person's inactive users. */
  inactive_users: Fact<SponsorKey, readonly UserId[]>;
  /** The number of a person's users other than `except`, and how many of them are inactive. */
  other_users: Fact<{ readonly sponsorKey: SponsorKey; readonly except: UserId }, OtherUsers>;
}

interface Fact<About, Answer> {
  readonly about: About;
  readonly answer: Answer;
}

/** The new questions of one agent to one person, in an hour that begins with the first of them. */
export interface AskedQuestions {
  readonly asked: number;
  /** Whether a further question was refused, and recorded, in this hour. */
  readonly isRefused: boolean;
  /** The end of the hour. */
  readonly forgetAt: Instant;
}

/** An approval whose time is up, with what its record says. */
export type DueApproval = ApprovalOrigin & Pick<Approval, 'approvalId' | 'digest' | 'commitment' | 'decidedAt'>;

export interface StatusDraws {
  readonly audience: string;
  /**
   * Random unsigned 32-bit numbers, of which a list with 2^n indices uses the lowest n bits. Without them the task gets
   * no index.
   */
  readonly draws: readonly number[];
}

/** Indices of one status list. */
export interface StatusCandidates {
  readonly listId: string;
  readonly indices: readonly number[];
}

interface StatusSlot {
  readonly listId: string;
  /** The number of the list's indices. */
  readonly entries: number;
  /** Free indices, drawn ones first. If tasks hold every drawn index: others. Empty if tasks hold all indices of the list. */
  readonly free: readonly number[];
}

interface OpenStatusList {
  readonly listId: string;
  /** Whether any of its indices is held by no task. */
  readonly hasRoom: boolean;
  /** Whether the audience has no other open list. */
  readonly isOnly: boolean;
}

export interface PendingUnblock extends FirstOperator {
  /** From this time it no longer counts. */
  readonly forgetAt: Instant;
}

export interface AssertionName {
  readonly agentId: AgentId;
  readonly jti: string;
}

/**
 * The name is a session's `sid` or a person's `sub`. The kind of a session marks a logout from the client of that page, which
 * refuses sign-ins there. The others refuse subject tokens. `person_without_session` refuses only the person's tokens that
 * have no `sid`.
 */
export interface LogoutName {
  readonly kind: LogoutKind | `${SessionKind}_${LogoutKind}`;
  readonly name: string;
}

type LogoutKind = LoggedOut['kind'] | 'person_without_session';

export interface LogoutTimes {
  /** The latest logout, by the provider's clock. */
  readonly statedAt: Instant;
  readonly forgetAt: Instant;
}

export interface GrantOwner {
  readonly agentId: AgentId;
  readonly taskId: TaskId;
  readonly sponsorKey: SponsorKey;
}

/** `undefined`: no such end is stored. */
export interface AuthorizationEnds {
  readonly everything: AuthorizationEnd | undefined;
  readonly agent: AuthorizationEnd | undefined;
}

export interface AuthorizationEnd {
  /** Grows with each such end. It is not 1 for the first (`EndCounts`). */
  readonly count: number;
  /** Of the last one. */
  readonly reason: VoidReason;
}

export interface DelegatingFacts extends Pick<Grant, 'scope'> {
  readonly state: TaskState['kind'];
  readonly expiresAt: Instant;
}

interface GrantFacts extends Pick<Grant, 'scope' | 'renewals' | 'revokedAt' | 'rotation'> {
  readonly taskId: TaskId;
  /** The number of renewals without their own record. */
  readonly unrecorded: number;
}

/** There may be very many tasks, so only their ids are read. */
export interface LiveTasks {
  /** In the order of their creation: a task comes after the task that it was delegated from. */
  readonly taskIds: readonly TaskId[];
  /** The tasks in `taskIds` that are not selected, but delegated from selected ones, directly or not. */
  readonly delegated: ReadonlySet<TaskId>;
  /** The people (`sub`) of the selected tasks, at most two: the caller needs to know only whether it is one. */
  readonly sponsors: readonly string[];
}

export interface SomeLiveTasks extends Pick<LiveTasks, 'taskIds'> {
  /** Whether no other task was live. */
  readonly areAll: boolean;
}

/** One task, or all tasks of an agent, a person, an agent for one person, a session, or a session and none. */
export type TaskSelection =
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'agent'; readonly agentId: AgentId }
  | { readonly kind: 'sponsor'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'sponsor_agent'; readonly sponsorKey: SponsorKey; readonly agentId: AgentId }
  | { readonly kind: 'session'; readonly sessionId: string }
  /** The tasks of the session, and those of the person (`sub`) that belong to no session. */
  | { readonly kind: 'session_or_none'; readonly sessionId: string; readonly subject: string }
  /** A person by `sub`, even if another claim is the sponsor key. */
  | { readonly kind: 'subject'; readonly subject: string };

/** Requests of those whose tasks end, some requests, or all. The end of one task ends no request. */
export type AuthorizationSelection =
  | Exclude<TaskSelection, { readonly kind: 'task' }>
  | { readonly kind: 'requests'; readonly requestIds: readonly RequestId[] }
  | { readonly kind: 'everything' };

export interface SignalName {
  readonly receiver: 'approval' | 'logout' | 'ssf';
  readonly issuer: string;
  readonly jti: string;
}

export type FactName = keyof Facts;
export type About<Name extends FactName> = Facts[Name]['about'];
export type Answer<Name extends FactName> = Facts[Name]['answer'];

/** A question about one fact. */
export type Question<Name extends FactName = FactName> = {
  readonly [Each in Name]: { readonly fact: Each; readonly about: About<Each> };
}[Name];

/** A decision's questions, by names that the decision chooses. */
export type Questions = Readonly<Record<string, Question | readonly (Question | undefined)[] | undefined>>;

/** The answers to such questions, under the same names. */
export type Answers<Asked extends Questions> = { readonly [Name in keyof Asked]: AnswerTo<Asked[Name]> };

type AnswerTo<Asked> = Asked extends readonly (infer Each)[]
  ? readonly AnswerTo<Each>[]
  : Asked extends { readonly fact: infer Name extends FactName }
    ? Answer<Name>
    : undefined;

export function ask<Name extends FactName>(
  fact: Name,
  about: About<Name>,
): { readonly fact: Name; readonly about: About<Name> } {
  return { fact, about };
}
