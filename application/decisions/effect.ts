/**
 * The effects that a verdict can have: rows to insert, change or delete, and records to append. They hold no rule: the
 * judge has decided everything. An engine applies them in the order of `EFFECT_ORDER`, all in one transaction.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { Approval } from '../../domain/approvals/approval.ts';
import type { PersonSays } from '../../domain/approvals/recorded-says.ts';
import type { Authorization, IssuedCode, VoidReason } from '../../domain/authorization/authorization.ts';
import type { AgentId, ApprovalId, RequestId, SponsorKey, TaskId, TokenId, UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry, LedgerEvent } from '../../domain/ledger/record.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import type { OperatorAct } from '../../domain/operators/operator-act.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import type { BlockSource, StatedBlock } from '../../domain/sponsors/block.ts';
import type { EndReason } from '../../domain/tasks/lifetime.ts';
import type { StatedPurpose } from '../../domain/tasks/purpose.ts';
import type { GrantHash, GrantRotation, Revocation, Task } from '../../domain/tasks/task.ts';
import type { ClientLabel } from '../../domain/tasks/task-authorization.ts';
import type {
  AskedQuestions,
  AssertionName,
  AuthorizationSelection,
  LogoutName,
  LogoutTimes,
  PendingUnblock,
  SignalName,
} from './fact.ts';

export interface Effects {
  spend_assertion: AssertionName & { readonly forgetAt: Instant };
  accept_signal: SignalName & { readonly forgetAt: Instant };
  insert_task: { readonly task: Task; readonly grantHash: GrantHash };
  insert_purpose: StatedPurpose & { readonly taskId: TaskId };
  update_grant: {
    readonly grantHash: GrantHash;
    readonly scope: Scope;
    readonly renewals: number;
    readonly unrecorded: number;
    readonly renewedAt: Instant;
  };
  /** Stores which refresh tokens of a rotating grant are accepted. */
  rotate_grant: GrantRotation & { readonly grantHash: GrantHash };
  /** Changes the rows of the tasks, revokes their grants and withdraws their open approvals as of `at`. */
  end_tasks: EndedTasks;
  /** Deletes the tasks with their grants, purposes, approvals and authorizations. */
  delete_tasks: { readonly taskIds: readonly TaskId[] };
  revoke_token: Revocation & { readonly tokenId: TokenId; readonly taskId: TaskId; readonly forgetAt: Instant };
  insert_approval: Approval;
  answer_approval: {
    readonly approvalId: ApprovalId;
    readonly state: 'granted' | 'refused';
    readonly at: Instant;
    readonly expiresAt: Instant;
    readonly says?: PersonSays | undefined;
  };
  /** `withdrawn`: the same call came with other words. The end of a task withdraws its approvals itself. */
  close_approval: {
    readonly approvalId: ApprovalId;
    readonly state: 'used' | 'expired' | 'withdrawn';
    readonly at: Instant;
  };
  insert_approval_notice: {
    readonly approvalId: ApprovalId;
    readonly sponsorKey: SponsorKey;
    readonly dueAt: Instant;
  };
  /** Counts the questions of an agent to a person, in place of an earlier count. */
  put_asked_questions: AskedQuestions & { readonly agentId: AgentId; readonly sponsorKey: SponsorKey };
  insert_authorization: Authorization & { readonly forgetAt: Instant };
  answer_authorization: {
    readonly requestId: RequestId;
    readonly state: 'allowed' | 'refused';
    readonly client: ClientLabel;
    readonly at: Instant;
    /** Set if it is allowed. */
    readonly code: IssuedCode | undefined;
    readonly purpose: string | undefined;
    readonly forgetAt: Instant;
  };
  /**
   * From now on it is stored as long as its task. `forgetAt`: no task came from it. Erases the words that only the client and the
   * page needed.
   */
  spend_authorization: { readonly requestId: RequestId; readonly forgetAt?: Instant };
  /** Changes the selected authorizations that are open or allowed. There may be none. */
  void_authorizations: { readonly selection: AuthorizationSelection; readonly reason: VoidReason };
  /** Counts an end, for requests that are not stored yet: adds one to the stored count, or stores `first`. */
  count_authorization_end: {
    readonly first: number;
    readonly of: { readonly kind: 'everything' } | { readonly kind: 'agent'; readonly agentId: AgentId };
    readonly reason: VoidReason;
    readonly forgetAt: Instant;
  };
  /** Inserts the block, or replaces the one of its source. */
  put_block: StatedBlock;
  remove_block: { readonly sponsorKey: SponsorKey; readonly source: BlockSource };
  /** Inserts the request of the first operator, or replaces it. */
  put_pending_unblock: PendingUnblock & { readonly sponsorKey: SponsorKey };
  remove_pending_unblock: { readonly sponsorKey: SponsorKey };
  /** Inserts the person's refusal of the agent's handing-over, or replaces its time. */
  put_delegation_refusal: AgentOfPerson & { readonly refusedAt: Instant };
  remove_delegation_refusal: AgentOfPerson;
  /** Inserts the logout, or replaces its times. */
  put_logout: LogoutName & LogoutTimes;
  insert_session: Session;
  /** Changes nothing if the session has closed. */
  renew_session: Pick<Session, 'sessionHash' | 'lastUsedAt' | 'expiresAt'>;
  close_session: Pick<Session, 'sessionHash'>;
  insert_agent: Agent;
  replace_agent: Agent;
  remove_agent: { readonly agentId: AgentId };
  /** Deletes the refusals of all people of the agent's handing-over. There may be none. */
  forget_delegation_refusals: { readonly agentId: AgentId };
  insert_user: ProvisionedUser;
  replace_user: ProvisionedUser;
  remove_user: { readonly userId: UserId };
  insert_status_list: {
    readonly listId: string;
    readonly audience: string;
    /** The number of indices. */
    readonly entries: number;
    readonly at: Instant;
  };
  /** No task gets an index of the list, until the sweeper has freed one. */
  close_status_list: { readonly listId: string; readonly at: Instant };
  /** Inserts the key, or replaces when it signed. */
  put_log_key: LogKey;
  /** Appends the entries in order, then the records of the ended tasks in their order. */
  append: { readonly entries: readonly LedgerEntry[]; readonly ended?: EndedTasks };
  /**
   * Appends `operator.acted`, and keeps its reason beside the ledger. The engine adds the number of the first record that the
   * decision appends. At most one in a decision, which shares its transaction with no other.
   */
  operator_act: OperatorAct;
}

export interface AgentOfPerson {
  readonly sponsorKey: SponsorKey;
  readonly agentId: AgentId;
}

/** Possibly very many tasks. The engine fills their records from the columns of their rows. */
export interface EndedTasks {
  readonly tasks: readonly EndedTask[];
  readonly at: Instant;
  /**
   * The event of the record that sums up a task's renewals without their own record. It precedes the record of the end. A
   * task without such renewals gets no such record.
   */
  readonly renewalsEvent: LedgerEvent;
  /** The event of the record of each approval that the end withdrew. It follows the record of the end, and has its reason. */
  readonly withdrawnEvent: LedgerEvent;
}

export interface EndedTask {
  readonly taskId: TaskId;
  readonly end: TaskEnd;
}

export interface TaskEnd {
  /** A revoked task ends at `at`, an expired one at its own expiry. */
  readonly state: 'revoked' | 'expired';
  readonly record: { readonly event: LedgerEvent; readonly reason: EndReason };
}

export type EffectName = keyof Effects;

export type Effect = { readonly [Name in EffectName]: { readonly effect: Name } & Effects[Name] }[EffectName];

/**
 * Appending comes last, because an append holds the ledger's fence (a lock) until the transaction ends
 * (docs/decisions/0001-ledger-paging.md).
 */
export const EFFECT_ORDER = [
  'spend_assertion',
  'accept_signal',
  'insert_task',
  'insert_purpose',
  'update_grant',
  'rotate_grant',
  'end_tasks',
  'delete_tasks',
  'revoke_token',
  'answer_approval',
  'close_approval',
  'insert_approval',
  'insert_approval_notice',
  'put_asked_questions',
  'insert_authorization',
  'answer_authorization',
  'spend_authorization',
  'void_authorizations',
  'count_authorization_end',
  'put_block',
  'remove_block',
  'put_pending_unblock',
  'remove_pending_unblock',
  'put_delegation_refusal',
  'remove_delegation_refusal',
  'put_logout',
  'close_session',
  'insert_session',
  'renew_session',
  'insert_agent',
  'replace_agent',
  'remove_agent',
  'forget_delegation_refusals',
  // A created user may take the name of a user that the same decision removes.
  'remove_user',
  'insert_user',
  'replace_user',
  'insert_status_list',
  'close_status_list',
  'put_log_key',
  'append',
  'operator_act',
] as const satisfies readonly EffectName[];

/** Whether the effects surely change a row. */
export function change(effects: readonly Effect[]): boolean {
  return effects.some(({ effect }) => effect !== 'void_authorizations' && effect !== 'forget_delegation_refusals');
}

/** Appends the entries, then the records of the ended tasks. No effect if there are none. */
export function recorded(entries: readonly LedgerEntry[], ended?: EndedTasks): readonly Effect[] {
  if (ended !== undefined) return [{ effect: 'append', entries, ended }];
  return entries.length === 0 ? [] : [{ effect: 'append', entries }];
}

/** Groups the tasks by their end. */
export function byEnd(tasks: readonly EndedTask[]): ReadonlyMap<TaskEnd, readonly TaskId[]> {
  const grouped = new Map<TaskEnd, TaskId[]>();
  for (const { taskId, end } of tasks) {
    const group = grouped.get(end);
    if (group === undefined) grouped.set(end, [taskId]);
    else group.push(taskId);
  }
  return grouped;
}
