/** The use cases that `/me` asks, by the API and the pages. */

import type { AnswerVerdict } from '../../../application/decisions/answer-approval.ts';
import type { DelegationVerdict } from '../../../application/decisions/delegation-refusal.ts';
import type { EndVerdict } from '../../../application/decisions/end-tasks.ts';
import type { ProofOutcome } from '../../../application/ledger/prove.ts';
import type { LedgerAnswer } from '../../../application/ledger/query.ts';
import type {
  MyAgents,
  MyAgentsQuestion,
  MyAgentTasks,
  MyAgentTasksQuestion,
} from '../../../application/me/my-agents.ts';
import type { MyAnswer, WaitingApprovals } from '../../../application/me/my-approvals.ts';
import type { DelegationAllowed, MyDelegationRefusals } from '../../../application/me/my-delegation.ts';
import type { MyRecordsQuestion } from '../../../application/me/my-records.ts';
import type { MyTask, MyTasksPage, MyTasksQuestion, MyTaskTree } from '../../../application/me/my-tasks.ts';
import type { MyPause, PauseOutcome, ResumeVerdict } from '../../../application/me/pause.ts';
import type { MyStopSelection } from '../../../application/me/stop-my-tasks.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { AgentId, ApprovalId, TaskId } from '../../../domain/identifiers.ts';
import type { MeDenialReason, MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import type { PresentsAuthorizations } from '../message/task-authorization.ts';
import type { MeAccess } from './identify.ts';

export interface MeSurface extends MeAccess, PresentsAuthorizations {
  /** Records a refusal. The record names no person. */
  refuse(reason: MeDenialReason, trace?: Trace): Promise<void>;
  tasks(person: MePerson, question: MyTasksQuestion): Promise<MyTasksPage>;
  /** Whether agents may state purposes. If not, a task shows the purpose that was stored while they could. */
  readonly presentsPurposes: boolean;
  /** `not_found` only for a task that is not stored, or is another person's. */
  stop(person: MePerson, selection: MyStopSelection): Promise<EndVerdict>;
  /** `Service:Me:Pause`. If `false`, a pause from before can still be lifted. */
  readonly canPause: boolean;
  pauseOf(person: MePerson): Promise<MyPause>;
  pause(person: MePerson): Promise<PauseOutcome>;
  /** Whether the person signed in lately enough to resume. */
  mayResume(person: MePerson): Promise<boolean>;
  resume(person: MePerson): Promise<ResumeVerdict>;
  records(person: MePerson, question: MyRecordsQuestion): Promise<LedgerAnswer>;
  prove(person: MePerson, seq: number): Promise<ProofOutcome>;
  /** `undefined` without `Service:Approvals:Enabled`: its paths are then unknown. */
  readonly approvals: MyApprovals | undefined;
  /** `undefined` without `Service:Delegation:Enabled`: its paths are then unknown. */
  readonly delegation: MyDelegation | undefined;
  readonly log: Log;
}

/** The tasks that agents handed to each other, and the person's choice whether an agent may. */
export interface MyDelegation {
  /** Empty for a task that is not stored, or is another person's. */
  tree(person: MePerson, question: { readonly taskId: TaskId; readonly limit: number }): Promise<MyTaskTree>;
  list(person: MePerson, limit: number): Promise<MyDelegationRefusals>;
  /** Those of the agents whose handing-over the person refuses. */
  refusedAmong(person: MePerson, agentIds: readonly AgentId[]): Promise<ReadonlySet<AgentId>>;
  refuse(person: MePerson, agentId: AgentId): Promise<DelegationVerdict>;
  allow(person: MePerson, agentId: AgentId): Promise<DelegationAllowed>;
}

/** What the API and the page ask. */
export interface MyApprovals {
  list(person: MePerson): Promise<WaitingApprovals>;
  /** What the person answered or missed, the latest first. */
  settled(person: MePerson, limit: number): Promise<readonly TaskApproval[]>;
  /** In any state. `undefined` if it is not stored, or is another person's; `altered` if it is not as it was recorded. */
  find(person: MePerson, approvalId: ApprovalId): Promise<TaskApproval | 'altered' | undefined>;
  /** Whether the person signed in lately enough to say yes. */
  mayApprove(person: MePerson): Promise<boolean>;
  answer(person: MePerson, answer: MyAnswer): Promise<AnswerVerdict>;
  /** Seconds: how old the sign-in of a person who says yes may be. */
  readonly maxAuthAge: number;
  /** Seconds that a yes may be used, and that a no counts. */
  readonly holds: { readonly yes: number; readonly no: number };
}

/** What the page reads beside the API. */
export interface PageSurface extends MeSurface {
  agents(person: MePerson, question: MyAgentsQuestion): Promise<MyAgents>;
  /** `undefined` for a task that is not stored, or is another person's. */
  agentTasks(person: MePerson, question: MyAgentTasksQuestion): Promise<MyAgentTasks | undefined>;
  endedTasks(person: MePerson, question: MyTasksQuestion): Promise<MyTasksPage>;
  /** Seconds for which tool servers may accept a token of a task that has ended. */
  acceptedAfterStop(): Promise<number>;
  /** In any state. Lacks those that are not stored, or are another person's. */
  tasksById(person: MePerson, taskIds: readonly TaskId[]): Promise<ReadonlyMap<TaskId, MyTask>>;
}
