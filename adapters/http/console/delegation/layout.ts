/** Places the nodes of the graph of delegations in four columns, with few crossings of lines. */

import { Graph, layout } from '@dagrejs/dagre';
import type { DelegationEdge, DelegationGraph, DelegationNode } from './graph.ts';

export const NODE_WIDTH = 204;
export const NODE_HEIGHT = 44;
const BETWEEN_COLUMNS = 64;
const BETWEEN_ROWS = 12;
/** Room for the headings of the columns. */
export const TOP = 28;
/** So that the outline of a node with the focus is not cut off. */
export const MARGIN = 4;

export const COLUMNS = ['People', 'Agents', 'Tasks', 'Tool servers'] as const;

/** The search for the order with the fewest crossings takes a tenth of a second with so many lines, and a second with 500. */
const MOST_ORDERED = 100;

export interface PlacedNode {
  readonly node: DelegationNode;
  /** The upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface PlacedEdge {
  readonly edge: DelegationEdge;
  readonly from: { readonly x: number; readonly y: number };
  readonly to: { readonly x: number; readonly y: number };
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/** The left edge of a column. */
export function columnAt(nth: number): number {
  return MARGIN + nth * (NODE_WIDTH + BETWEEN_COLUMNS);
}

export function placeDelegations({ nodes, edges }: DelegationGraph): Placed {
  const graph = new Graph();
  // Every line leads to the next column, so the columns are the ranks. Each line is laid out as a node between them.
  graph.setGraph({
    rankdir: 'LR',
    ranker: 'longest-path',
    nodesep: BETWEEN_ROWS,
    edgesep: 0,
    ranksep: BETWEEN_COLUMNS,
  });
  for (const { id } of nodes) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to, tasks } of edges) graph.setEdge(from, to, { weight: tasks });
  layout(graph, { disableOptimalOrderHeuristic: edges.length > MOST_ORDERED });
  const places = new Map(
    nodes.map((node) => {
      const { y } = graph.node(node.id) as { readonly y: number };
      return [
        node.id,
        { node, x: columnAt(columnOf(node)), y: Math.round(y - NODE_HEIGHT / 2) + TOP + MARGIN },
      ] as const;
    }),
  );
  const bottom = Math.max(0, ...[...places.values()].map(({ y }) => y + NODE_HEIGHT));
  return {
    width: columnAt(COLUMNS.length - 1) + NODE_WIDTH + MARGIN,
    height: bottom + MARGIN,
    nodes: [...places.values()],
    edges: edges.flatMap((edge) => {
      const [from, to] = [places.get(edge.from), places.get(edge.to)];
      if (from === undefined || to === undefined) return [];
      const middle = NODE_HEIGHT / 2;
      return { edge, from: { x: from.x + NODE_WIDTH, y: from.y + middle }, to: { x: to.x, y: to.y + middle } };
    }),
  };
}

function columnOf({ kind }: DelegationNode): number {
  switch (kind) {
    case 'person':
    case 'other_people':
      return 0;
    case 'agent':
    case 'other_agents':
      return 1;
    case 'task':
    case 'tasks':
      return 2;
    case 'server':
    case 'other_servers':
      return 3;
  }
}
