/** Routes of `/me`, relative to that path: a person's own tasks, pause and records. */

import type { StopOutcome } from '../../../application/admin/stop-tasks.ts';
import type { BlockVerdict } from '../../../application/decisions/place-block.ts';
import type { ProofOutcome } from '../../../application/ledger/prove.ts';
import type { LedgerAnswer, LedgerQuestion } from '../../../application/ledger/query.ts';
import type { MyTasksPage, MyTasksQuestion } from '../../../application/me/my-tasks.ts';
import type { MyPause, ResumeVerdict } from '../../../application/me/pause.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { AgentId, TaskId } from '../../../domain/identifiers.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import type { MeAccess, MeRefusal } from './identify.ts';

/** `invalid_form_token`: a write with a session, without the proof that it comes from the service's own page. */
export type MeDenialReason = MeRefusal | 'invalid_form_token';

export interface MeSurface extends MeAccess {
  /** Writes the record of a request that names nobody. */
  refuse(reason: MeDenialReason, trace?: Trace): Promise<void>;
  tasks(person: MePerson, question: MyTasksQuestion): Promise<MyTasksPage>;
  /** `not_found`: the task is not stored or is another person's. */
  stopTask(person: MePerson, taskId: TaskId): Promise<StopOutcome>;
  stopAll(person: MePerson): Promise<StopOutcome>;
  /** Never `not_found`: the answer does not say which agents exist. */
  stopAgent(person: MePerson, agentId: AgentId): Promise<StopOutcome>;
  /** `Service:Me:Pause`. */
  readonly canPause: boolean;
  pauseOf(person: MePerson): Promise<MyPause>;
  pause(person: MePerson): Promise<BlockVerdict>;
  resume(person: MePerson): Promise<ResumeVerdict>;
  records(person: MePerson, question: Omit<LedgerQuestion, 'filters'>): Promise<LedgerAnswer>;
  /** `not_found`: no record of this person has the number, or it is not sealed. */
  prove(person: MePerson, seq: number): Promise<ProofOutcome>;
  readonly log: Log;
}
