/**
 * Who acts through what: person to agent to task to tool server, as a graph that a page can draw. A graph that would be
 * too large has its tasks grouped, then its smallest people, agents and tool servers.
 */

import type { AgentId, SponsorKey, TaskId } from '../identifiers.ts';
import type { TaskState } from './task.ts';

/** More could neither be drawn in time nor read. */
export const MAX_NODES = 200;
/** The layout of more lines would hold up the process for longer than a tenth of a second. */
export const MAX_EDGES = 300;

export interface DelegatedTask {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly displayName: string | undefined;
  readonly sponsorKey: SponsorKey;
  readonly sponsor: string;
  readonly audience: string;
  readonly state: TaskState;
}

interface Counted {
  /** Unique in the graph. */
  readonly id: string;
  readonly tasks: number;
}

/** A group stands for what has fewer tasks than the nodes beside it. */
type Grouped = { readonly kind: 'other_people' | 'other_agents' | 'other_servers'; readonly members: number };

export type DelegationNode = Counted &
  (
    | { readonly kind: 'person'; readonly sponsorKey: SponsorKey; readonly sponsor: string }
    | { readonly kind: 'agent'; readonly agentId: AgentId; readonly displayName: string | undefined }
    | { readonly kind: 'task'; readonly taskId: TaskId; readonly state: TaskState['kind'] }
    /** Tasks between the same nodes. */
    | { readonly kind: 'tasks' }
    | { readonly kind: 'server'; readonly audience: string }
    | Grouped
  );

export interface DelegationEdge {
  readonly from: string;
  readonly to: string;
  readonly tasks: number;
}

export interface DelegationGraph {
  /** People, then agents, tasks and tool servers; the most tasks first. */
  readonly nodes: readonly DelegationNode[];
  readonly edges: readonly DelegationEdge[];
  /** What the graph shows as one node: nothing, tasks, or also the smallest people, agents and tool servers. */
  readonly grouped: 'nothing' | 'tasks' | 'smallest';
}

/** All tasks between the same person, agent and tool server. */
export interface DelegationRow extends Omit<DelegatedTask, 'taskId' | 'state'> {
  readonly tasks: number;
  /** The newest of them. */
  readonly newest: TaskId;
}

/** The same as text: who acts through what, the most tasks first. */
export function delegationRows(tasks: readonly DelegatedTask[]): readonly DelegationRow[] {
  const rows = new Map<string, DelegationRow>();
  for (const { taskId, state: _, ...between } of tasks) {
    const { sponsorKey, agentId, audience } = between;
    const key = `${sponsorKey} ${agentId} ${audience}`;
    const row = rows.get(key);
    const newest = row === undefined || taskId > row.newest ? taskId : row.newest;
    rows.set(key, { ...between, newest, tasks: (row?.tasks ?? 0) + 1 });
  }
  return [...rows.values()].sort((one, other) => other.tasks - one.tasks || (one.newest < other.newest ? 1 : -1));
}

/** A node before its tasks are counted. */
type Named = DelegationNode extends infer Node ? (Node extends Counted ? Omit<Node, 'tasks'> : never) : never;

/** The four nodes of a task, from the person to the tool server. */
type Chain = (task: DelegatedTask) => readonly [Named, Named, Named, Named];

/** How many people, agents and tool servers keep nodes of their own: as many as fit, in these steps. */
const KEPT = [40, 30, 20, 14, 10, 7, 5, 3, 2, 1] as const;

export function delegationGraph(tasks: readonly DelegatedTask[]): DelegationGraph {
  const ways = [
    { grouped: 'nothing', chain: everyTask },
    { grouped: 'tasks', chain: byAllThree },
    { grouped: 'tasks', chain: byAgentAndServer },
  ] as const;
  for (const { grouped, chain } of ways) {
    const graph = build(tasks, chain);
    if (graph !== undefined) return { ...graph, grouped };
  }
  const ranked = { people: rank(tasks, person), agents: rank(tasks, agent), servers: rank(tasks, server) };
  for (const kept of KEPT) {
    const graph = build(tasks, largest(ranked, kept));
    if (graph !== undefined) return { ...graph, grouped: 'smallest' };
  }
  throw new Error('a graph of a few groups is too large');
}

const person = ({ sponsorKey, sponsor }: DelegatedTask): Named => ({
  ...{ id: `person ${sponsorKey}`, kind: 'person', sponsorKey, sponsor },
});
const agent = ({ agentId, displayName }: DelegatedTask): Named => ({
  ...{ id: `agent ${agentId}`, kind: 'agent', agentId, displayName },
});
const server = ({ audience }: DelegatedTask): Named => ({ id: `server ${audience}`, kind: 'server', audience });

const everyTask: Chain = (task) => {
  const { taskId, state } = task;
  return [person(task), agent(task), { id: taskId, kind: 'task', taskId, state: state.kind }, server(task)];
};

const byAllThree: Chain = (task) => {
  const { sponsorKey, agentId, audience } = task;
  return [person(task), agent(task), { id: `tasks ${sponsorKey} ${agentId} ${audience}`, kind: 'tasks' }, server(task)];
};

const byAgentAndServer: Chain = (task) => between(person(task), agent(task), server(task));

function between(one: Named, two: Named, four: Named): readonly [Named, Named, Named, Named] {
  return [one, two, { id: `tasks ${two.id} ${four.id}`, kind: 'tasks' }, four];
}

/** The names of one kind, with the most tasks first. */
type Ranking = ReadonlyMap<string, number>;

function rank(tasks: readonly DelegatedTask[], name: (task: DelegatedTask) => Named): Ranking {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const { id } = name(task);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  // Equal ones in the order of their names, so that a page that is opened again looks the same.
  const sorted = [...counts].sort(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1));
  return new Map(sorted.map(([id], nth) => [id, nth]));
}

function largest(ranked: Readonly<Record<'people' | 'agents' | 'servers', Ranking>>, kept: number): Chain {
  const keep = (node: Named, ranking: Ranking, kind: Grouped['kind']): Named => {
    // A group of one would say less than the one, and take as much room.
    const isKept = ranking.size <= kept + 1 || (ranking.get(node.id) ?? 0) < kept;
    return isKept ? node : { id: kind, kind, members: ranking.size - kept };
  };
  return (task) =>
    between(
      keep(person(task), ranked.people, 'other_people'),
      keep(agent(task), ranked.agents, 'other_agents'),
      keep(server(task), ranked.servers, 'other_servers'),
    );
}

/** `undefined` if the graph would be too large. */
function build(
  tasks: readonly DelegatedTask[],
  chain: Chain,
): Pick<DelegationGraph, 'nodes' | 'edges'> | undefined {
  const layers = [0, 1, 2, 3].map(() => new Map<string, { readonly named: Named; tasks: number }>());
  const edges = new Map<string, { readonly from: string; readonly to: string; tasks: number }>();
  let nodes = 0;
  for (const task of tasks) {
    let from: string | undefined;
    for (const [nth, named] of chain(task).entries()) {
      const layer = layers[nth];
      const node = layer?.get(named.id);
      if (node === undefined) {
        nodes += 1;
        layer?.set(named.id, { named, tasks: 1 });
      } else node.tasks += 1;
      if (from !== undefined) {
        const line = `${from}\n${named.id}`;
        const edge = edges.get(line);
        if (edge === undefined) edges.set(line, { from, to: named.id, tasks: 1 });
        else edge.tasks += 1;
      }
      from = named.id;
    }
    if (nodes > MAX_NODES || edges.size > MAX_EDGES) return undefined;
  }
  return {
    nodes: layers.flatMap((layer) =>
      [...layer.values()]
        .map(({ named, tasks: count }): DelegationNode => ({ ...named, tasks: count }))
        .sort((one, other) => other.tasks - one.tasks),
    ),
    edges: [...edges.values()],
  };
}
