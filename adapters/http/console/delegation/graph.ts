/**
 * Who acts through what: person to agent to task to tool server, as a graph that a page can draw. A graph that would be
 * too large has its tasks grouped, then its smallest people, agents and tool servers.
 */

import type { AgentId, SponsorKey, TaskId } from '../../../../domain/identifiers.ts';
import type { Task, TaskState } from '../../../../domain/tasks/task.ts';

/** A larger graph takes too long to draw, and is too dense to read. */
export const MAX_NODES = 200;
/** If people, agents and tool servers are grouped, the picture is an overview: it should fit a few screens. */
export const MAX_OVERVIEW_NODES = 60;
/** The layout of more lines would hold up the process for a tenth of a second. */
export const MAX_EDGES = 200;

export interface DelegatedTask {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly displayName: string | undefined;
  readonly sponsorKey: SponsorKey;
  readonly sponsor: string;
  readonly audience: string;
  readonly state: TaskState;
  /** Not empty: another agent handed the task over. */
  readonly delegatedBy: Task['delegatedBy'];
}

interface Counted {
  /** Unique in the graph. */
  readonly id: string;
  readonly tasks: number;
}

/** A group replaces nodes that have fewer tasks than the others of their kind. */
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
  /** Which nodes are groups: none, tasks, or also the smallest people, agents and tool servers. */
  readonly grouped: 'nothing' | 'tasks' | 'smallest';
}

/** All tasks between the same person, agent and tool server. */
export interface DelegationRow extends Omit<DelegatedTask, 'taskId' | 'state' | 'delegatedBy'> {
  readonly tasks: number;
  /** The newest of them. */
  readonly newest: TaskId;
}

/** How many people, agents and tool servers keep a separate node: as many as fit, in these steps. */
const KEPT = [40, 30, 20, 14, 10, 7, 5, 3, 2, 1] as const;

/**
 * @returns the graph, and the same as text: who acts through what, the most tasks first
 */
export function delegationsOf(tasks: readonly DelegatedTask[]): {
  readonly graph: DelegationGraph;
  readonly rows: readonly DelegationRow[];
  /** How many of the tasks another agent handed over. */
  readonly handedOver: number;
} {
  const tally = tallied(tasks);
  const handedOver = tasks.filter(({ delegatedBy }) => delegatedBy.length > 0).length;
  return { graph: graphOf(tasks, tally), rows: rowsOf(tally), handedOver };
}

/** The distinct names of the tasks. Later steps use their indexes in these lists, which are faster to compare. */
interface Tally {
  readonly people: readonly Party[];
  readonly agents: readonly Party[];
  readonly servers: readonly Party[];
  readonly rows: readonly Row[];
}

interface Party {
  /** A task of it. */
  readonly task: DelegatedTask;
  tasks: number;
}

/** The indexes of a person, an agent and a tool server in their lists. */
interface Row {
  readonly person: number;
  readonly agent: number;
  readonly server: number;
  readonly task: DelegatedTask;
  tasks: number;
  newest: TaskId;
}

/** Exceeds the number of tasks of a picture, so that three indexes make one number. */
const PLACES = 65_536;

function tallied(tasks: readonly DelegatedTask[]): Tally {
  const people = parties((task) => task.sponsorKey);
  const agents = parties((task) => task.agentId);
  const servers = parties((task) => task.audience);
  const rows = new Map<number, Row>();
  for (const task of tasks) {
    const [person, agent, server] = [people.placeOf(task), agents.placeOf(task), servers.placeOf(task)];
    const key = (person * PLACES + agent) * PLACES + server;
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { person, agent, server, task, tasks: 1, newest: task.taskId });
    else {
      row.tasks += 1;
      if (task.taskId > row.newest) row.newest = task.taskId;
    }
  }
  return { people: people.all, agents: agents.all, servers: servers.all, rows: [...rows.values()] };
}

function parties(nameOf: (task: DelegatedTask) => string) {
  const all: Party[] = [];
  const places = new Map<string, number>();
  return {
    all,
    /** Counts the task, too. */
    placeOf(task: DelegatedTask): number {
      const name = nameOf(task);
      const place = places.get(name);
      const party = place === undefined ? undefined : all[place];
      if (place !== undefined && party !== undefined) {
        party.tasks += 1;
        return place;
      }
      places.set(name, all.length);
      return all.push({ task, tasks: 1 }) - 1;
    },
  };
}

function rowsOf({ rows }: Tally): readonly DelegationRow[] {
  return [...rows]
    .sort((one, other) => other.tasks - one.tasks || (one.newest < other.newest ? 1 : -1))
    .map(({ task, tasks, newest }) => {
      const { agentId, displayName, sponsorKey, sponsor, audience } = task;
      return { agentId, displayName, sponsorKey, sponsor, audience, tasks, newest };
    });
}

/** A node before its tasks are counted. */
type Named = DelegationNode extends infer Node ? (Node extends Counted ? Omit<Node, 'tasks'> : never) : never;

function graphOf(tasks: readonly DelegatedTask[], tally: Tally): DelegationGraph {
  const { people, agents, servers, rows } = tally;
  const own = {
    people: people.map(
      ({ task: { sponsorKey, sponsor } }): Named => ({
        id: `person ${sponsorKey}`,
        kind: 'person',
        sponsorKey,
        sponsor,
      }),
    ),
    agents: agents.map(
      ({ task: { agentId, displayName } }): Named => ({
        id: `agent ${agentId}`,
        kind: 'agent',
        agentId,
        displayName,
      }),
    ),
    servers: servers.map(({ task: { audience } }): Named => ({ id: `server ${audience}`, kind: 'server', audience })),
  };
  const parts = people.length + agents.length + servers.length;
  if (parts + tasks.length <= MAX_NODES) {
    const [byPerson, byAgent, byServer] = [places(own.people), places(own.agents), places(own.servers)];
    const graph = build(MAX_NODES, tasks, (task) => ({
      person: byPerson(`person ${task.sponsorKey}`),
      agent: byAgent(`agent ${task.agentId}`),
      task: { id: task.taskId, kind: 'task', taskId: task.taskId, state: task.state.kind },
      server: byServer(`server ${task.audience}`),
      tasks: 1,
    }));
    if (graph !== undefined) return { ...graph, grouped: 'nothing' };
  }
  const chained = (
    nodes: Readonly<Record<keyof typeof own, readonly Named[]>>,
    isByPerson: boolean,
    most = MAX_NODES,
  ) =>
    build(most, rows, (row) => {
      const [person, agent, server] = [nodes.people[row.person], nodes.agents[row.agent], nodes.servers[row.server]];
      if (person === undefined || agent === undefined || server === undefined)
        throw new Error('a row without its places');
      const id = `tasks ${isByPerson ? `${person.id} ` : ''}${agent.id} ${server.id}`;
      return { person, agent, task: { id, kind: 'tasks' }, server, tasks: row.tasks };
    });
  if (parts < MAX_NODES) {
    for (const isByPerson of [true, false]) {
      const graph = chained(own, isByPerson);
      if (graph !== undefined) return { ...graph, grouped: 'tasks' };
    }
  }
  const order = {
    people: ranked(people, own.people),
    agents: ranked(agents, own.agents),
    servers: ranked(servers, own.servers),
  };
  for (const kept of KEPT) {
    const graph = chained(
      {
        people: largest(own.people, order.people, kept, 'other_people'),
        agents: largest(own.agents, order.agents, kept, 'other_agents'),
        servers: largest(own.servers, order.servers, kept, 'other_servers'),
      },
      false,
      MAX_OVERVIEW_NODES,
    );
    if (graph !== undefined) return { ...graph, grouped: 'smallest' };
  }
  throw new Error('a graph of a few groups is too large');
}

function places(nodes: readonly Named[]): (id: string) => Named {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return (id) => {
    const node = byId.get(id);
    if (node === undefined) throw new Error('a task without its nodes');
    return node;
  };
}

/** The indexes of a kind, the most tasks first, then by name, so that the same tasks always give the same picture. */
function ranked(parties: readonly Party[], own: readonly Named[]): readonly number[] {
  const before = (one: number, other: number): number =>
    (parties[other]?.tasks ?? 0) - (parties[one]?.tasks ?? 0) ||
    ((own[one]?.id ?? '') < (own[other]?.id ?? '') ? -1 : 1);
  return parties.map((_, place) => place).sort(before);
}

/** The nodes of a kind: the largest ones, and one group for the rest. */
function largest(
  own: readonly Named[],
  order: readonly number[],
  kept: number,
  kind: Grouped['kind'],
): readonly Named[] {
  // A group with one member would take as much room as that member.
  if (own.length <= kept + 1) return own;
  const group: Named = { id: kind, kind, members: own.length - kept };
  const nodes: Named[] = own.map(() => group);
  for (const place of order.slice(0, kept)) nodes[place] = own[place] ?? group;
  return nodes;
}

interface Chain {
  readonly person: Named;
  readonly agent: Named;
  readonly task: Named;
  readonly server: Named;
  readonly tasks: number;
}

/** `undefined` if the graph would be too large. */
function build<Item>(
  mostNodes: number,
  items: readonly Item[],
  chainOf: (item: Item) => Chain,
): Pick<DelegationGraph, 'nodes' | 'edges'> | undefined {
  const layers = [0, 1, 2, 3].map(() => new Map<string, { readonly named: Named; tasks: number }>());
  const edges = new Map<string, { readonly from: string; readonly to: string; tasks: number }>();
  let nodes = 0;
  for (const item of items) {
    const { person, agent, task, server, tasks } = chainOf(item);
    let from: string | undefined;
    for (const [nth, named] of [person, agent, task, server].entries()) {
      const node = layers[nth]?.get(named.id);
      if (node === undefined) {
        nodes += 1;
        layers[nth]?.set(named.id, { named, tasks });
      } else node.tasks += tasks;
      if (from !== undefined) {
        const line = `${from}\n${named.id}`;
        const edge = edges.get(line);
        if (edge === undefined) edges.set(line, { from, to: named.id, tasks });
        else edge.tasks += tasks;
      }
      from = named.id;
    }
    if (nodes > mostNodes || edges.size > MAX_EDGES) return undefined;
  }
  return {
    nodes: layers.flatMap((layer) =>
      [...layer.values()]
        .map(({ named, tasks }): DelegationNode => ({ ...named, tasks }))
        .sort((one, other) => other.tasks - one.tasks),
    ),
    edges: [...edges.values()],
  };
}
