/** The agents that act for a person now, and the live tasks of one of them in pages. */

import type { TaskId } from '../../domain/identifiers.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import type { Reporting } from '../ledger/differences.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { OwnAgent, Tasks } from '../ports/tasks.ts';
import { type MyTask, reportPurposes } from './my-tasks.ts';

export type MyAgent = OwnAgent;

interface Reading extends Reporting {
  readonly tasks: Pick<Tasks, 'agentsOfSponsor' | 'liveOfSponsor' | 'findListed'>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
}

export interface MyAgentsQuestion {
  /** The newest task of the last agent of the previous page: an address names no agent. */
  readonly after: TaskId | undefined;
  readonly limit: number;
  /** If the person has at most this many live tasks, they are listed too. */
  readonly listsTasks: number;
}

export interface MyAgents {
  /** How many live tasks the person has. */
  readonly tasks: number;
  /** How many agents have them. */
  readonly agents: number;
  /** The agent of the newest task first. */
  readonly page: readonly MyAgent[];
  /** `undefined` on the last page. */
  readonly nextAfter: TaskId | undefined;
  /** All live tasks of the person, newest first. `undefined` if they are too many to list. */
  readonly listed: readonly MyTask[] | undefined;
}

export async function myAgents(
  { tasks, sharedTime, ...reporting }: Reading,
  { sponsorKey }: MePerson,
  { after, limit, listsTasks }: MyAgentsQuestion,
): Promise<MyAgents> {
  const now = await sharedTime.earliest();
  const agents = await tasks.agentsOfSponsor(sponsorKey, now);
  const total = agents.reduce((sum, agent) => sum + agent.tasks, 0);
  const rest = after === undefined ? agents : agents.filter(({ newestTask }) => newestTask < after);
  const page = rest.slice(0, limit);
  const isListed = total <= listsTasks;
  const live = () => tasks.liveOfSponsor(sponsorKey, { after: undefined, limit: listsTasks, now });
  const listed = isListed ? await reportPurposes(reporting, await live()) : undefined;
  return {
    tasks: total,
    agents: agents.length,
    page,
    nextAfter: rest.length > limit ? page.at(-1)?.newestTask : undefined,
    listed,
  };
}

export interface MyAgentTasksQuestion {
  /** A task of the agent, live or ended: it names the agent. */
  readonly of: TaskId;
  /** The last task of the previous page. */
  readonly after: TaskId | undefined;
  readonly limit: number;
}

export interface MyAgentTasks {
  readonly agent: Pick<MyAgent, 'agentId' | 'displayName'>;
  /** How many live tasks the agent has for the person. */
  readonly live: number;
  /** The newest first. */
  readonly tasks: readonly MyTask[];
  /** `undefined` on the last page. */
  readonly nextAfter: TaskId | undefined;
}

/** `undefined` for a task that is not stored, or is another person's. */
export async function myAgentTasks(
  { tasks, sharedTime, ...reporting }: Reading,
  { sponsorKey }: MePerson,
  { of, after, limit }: MyAgentTasksQuestion,
): Promise<MyAgentTasks | undefined> {
  const now = await sharedTime.earliest();
  const named = await tasks.findListed(of, now);
  if (named?.sponsorKey !== sponsorKey) return undefined;
  const { agentId, displayName } = named;
  const agents = await tasks.agentsOfSponsor(sponsorKey, now);
  // One more than the limit tells whether another page follows.
  const found = await tasks.liveOfSponsor(sponsorKey, { agentId, after, limit: limit + 1, now });
  const page = await reportPurposes(reporting, found.slice(0, limit));
  return {
    agent: { agentId, displayName },
    live: agents.find((agent) => agent.agentId === agentId)?.tasks ?? 0,
    tasks: page,
    nextAfter: found.length > limit ? page.at(-1)?.taskId : undefined,
  };
}
