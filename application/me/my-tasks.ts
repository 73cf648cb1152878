/** A person's own tasks in pages: live ones first, then those that retention still has. */

import type { AgentId, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Scope } from '../../domain/scope.ts';
import type { TaskState } from '../../domain/tasks/task.ts';

export interface MyTask {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  readonly audience: string;
  readonly scope: Scope;
  readonly startedAt: Instant;
  readonly expiresAt: Instant;
  /** A live task whose time is up is presented as `expired`. */
  readonly state: TaskState['kind'];
  /** `undefined` while the task is live. */
  readonly endedAt: Instant | undefined;
  /** Why the task ended; `undefined` while it is live. */
  readonly reason: string | undefined;
  /** Successful refreshes so far. */
  readonly renewals: number;
}

/** The position after a task of the list. */
export interface MyTasksCursor {
  /** When that task ended; `undefined` if it was listed among the live ones. */
  readonly endedAt: Instant | undefined;
  readonly taskId: TaskId;
}

export interface MyTasksQuestion {
  readonly after: MyTasksCursor | undefined;
  readonly limit: number;
}

export interface MyTasksPage {
  readonly tasks: readonly MyTask[];
  /** `undefined` on the last page. */
  readonly nextAfter: MyTasksCursor | undefined;
}
