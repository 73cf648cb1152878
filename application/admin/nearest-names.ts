/** Offers names that were probably meant, where an operator typed one that nothing has. */

import type { Agents } from '../ports/agents.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { Sponsors } from '../ports/sponsors.ts';
import type { Tasks } from '../ports/tasks.ts';

interface Naming {
  readonly tasks: Pick<Tasks, 'livePeople' | 'list'>;
  readonly sponsors: Pick<Sponsors, 'list'>;
  readonly agents: Pick<Agents, 'list'>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
  /** The names that differ least from the one that was typed, the nearest first. Names that differ much are left out. */
  nearest(typed: string, names: Iterable<string>, most: number): readonly string[];
}

/** Whose name was typed. */
export type Named = 'person' | 'agent' | 'task';

/** More names would hold up other requests: each is compared with the typed one. */
const MOST_PEOPLE = 10_000;
const MOST_OTHERS = 1000;
const OFFERED = 3;

/** People with live tasks or blocks, registered agents, the newest live tasks. */
export async function nearestNames(service: Naming, what: Named, typed: string): Promise<readonly string[]> {
  return service.nearest(typed, await namesOf(service, what), OFFERED);
}

async function namesOf({ tasks, sponsors, agents, sharedTime }: Naming, what: Named): Promise<Iterable<string>> {
  switch (what) {
    case 'person': {
      const blocks = sponsors.list({ after: undefined, limit: MOST_OTHERS });
      const people = await tasks.livePeople(MOST_PEOPLE);
      return new Set([...people, ...(await blocks).map(({ sponsorKey }) => sponsorKey)]);
    }
    case 'agent':
      return (await agents.list({ limit: MOST_OTHERS })).map(({ agentId }) => agentId);
    case 'task': {
      const question = { state: 'live', after: undefined, limit: MOST_OTHERS, mostRead: MOST_OTHERS } as const;
      const { tasks: found } = await tasks.list({ ...question, now: await sharedTime.earliest() });
      return found.map(({ taskId }) => taskId);
    }
  }
}
