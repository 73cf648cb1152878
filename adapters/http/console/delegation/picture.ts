/** Draws the graph of delegations as SVG. Nodes link to their screens, and to the kill switch. */

import { visibleWords } from '../../../../domain/visible.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { placeOf } from '../../browser/words.ts';
import { agentPath, delegationPath, personPath, stopPath, taskPath } from '../addresses.ts';
import { count } from '../parts/words.ts';
import type { DelegationGraph, DelegationNode } from './graph.ts';
import {
  COLUMNS,
  columnAt,
  MARGIN,
  NODE_HEIGHT,
  NODE_WIDTH,
  type PlacedEdge,
  type PlacedNode,
  placeDelegations,
  TOP,
} from './layout.ts';

/** The side of the stop button, which fingers must hit. */
const STOP = 28;
const PADDING = 10;
/** Characters that fit a node at the size of its text. */
const FITS = 23;
const FITS_BESIDE_STOP = 18;

interface Drawn {
  readonly mayStop: boolean;
  /** Whether all tasks were read. */
  readonly isComplete: boolean;
}

export function drawDelegations(graph: DelegationGraph, drawn: Drawn): Html {
  const { width, height, nodes, edges } = placeDelegations(graph);
  return html`<svg class="delegations" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="group" aria-label="Who acts through what">
<g class="columns" aria-hidden="true">${COLUMNS.map((title, nth) => html`<text x="${columnAt(nth) + PADDING}" y="${MARGIN + TOP / 2}">${title}</text>`)}</g>
<g class="lines" aria-hidden="true">${edges.map(line)}</g>
${nodes.map((placed) => drawNode(placed, drawn))}
</svg>`;
}

/** `50 tasks`, or `50 or more tasks` where older ones were not read. */
export function countedTasks(tasks: number, isComplete: boolean): string {
  return isComplete ? count(tasks, 'task') : `${tasks.toLocaleString('en')} or more tasks`;
}

function line({ edge, from, to }: PlacedEdge): Html {
  const middle = (from.x + to.x) / 2;
  const path = `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
  return html`<path d="${path}" stroke-width="${thickness(edge.tasks)}"/>`;
}

/** A line for ten times as many tasks is 1.5 wider. */
function thickness(tasks: number): string {
  return (1 + 1.5 * Math.log10(tasks)).toFixed(1);
}

interface NodeWords {
  /** The first line. */
  readonly name: string;
  /** The second line. */
  readonly about: string;
  readonly to: string | undefined;
  /** `undefined` for a node whose tasks the kill switch cannot end. */
  readonly stop: { readonly to: string; readonly label: string } | undefined;
}

function drawNode({ node, x, y }: PlacedNode, { mayStop, isComplete }: Drawn): Html {
  const { name: given, about, to, stop } = wordsFor(node, isComplete);
  const name = visibleWords(given);
  const hasStop = mayStop && stop !== undefined;
  const fits = hasStop ? FITS_BESIDE_STOP : FITS;
  const box = html`<title>${name} · ${about}</title><rect width="${NODE_WIDTH}" height="${NODE_HEIGHT}" rx="8"/>
<text class="name" x="${PADDING}" y="18">${cut(name, fits)}</text><text class="about" x="${PADDING}" y="35">${cut(about, fits + 4)}</text>`;
  return html`<g class="node ${styleOf(node)}" transform="translate(${x} ${y})">
${to === undefined ? html`<g>${box}</g>` : html`<a href="${to}">${box}</a>`}
${hasStop && stopButton(stop)}
</g>`;
}

function stopButton({ to, label }: NonNullable<NodeWords['stop']>): Html {
  const at = `translate(${NODE_WIDTH - STOP - 8} ${(NODE_HEIGHT - STOP) / 2})`;
  return html`<a class="stop" href="${to}" aria-label="${label}" transform="${at}"><title>${label}</title><rect width="${STOP}" height="${STOP}" rx="6"/><rect class="sign" x="9" y="9" width="10" height="10" rx="1"/></a>`;
}

function styleOf(node: DelegationNode): Insert {
  return node.kind === 'task' ? `task ${node.state}` : node.kind.replace('other_', 'other ');
}

function wordsFor(node: DelegationNode, isComplete: boolean): NodeWords {
  const tasks = countedTasks(node.tasks, isComplete);
  switch (node.kind) {
    case 'person': {
      const { sponsor, sponsorKey } = node;
      const stop = { to: stopPath({ sponsor: sponsorKey }), label: `Stop all tasks of ${visibleWords(sponsor)}` };
      return { name: sponsor, about: tasks, to: personPath(sponsorKey), stop };
    }
    case 'agent': {
      const { agentId, displayName = agentId } = node;
      const stop = { to: stopPath({ agent_id: agentId }), label: `Stop all tasks of ${agentId}` };
      return { name: displayName, about: tasks, to: agentPath(agentId), stop };
    }
    case 'task': {
      const { taskId, state } = node;
      // The last characters of an id are random, the first are its time.
      const stop = { to: stopPath({ task_id: taskId }), label: `Stop the task ${taskId}` };
      return {
        name: `…${taskId.slice(-8)}`,
        about: state,
        to: taskPath(taskId),
        stop: state === 'live' ? stop : undefined,
      };
    }
    case 'tasks':
      return { name: tasks, about: 'one node', to: undefined, stop: undefined };
    case 'server':
      return {
        name: placeOf(node.audience),
        about: tasks,
        to: delegationPath({ audience: node.audience }),
        stop: undefined,
      };
    case 'other_people':
      return {
        name: `${node.members.toLocaleString('en')} other people`,
        about: tasks,
        to: undefined,
        stop: undefined,
      };
    case 'other_agents':
      return { name: count(node.members, 'other agent'), about: tasks, to: undefined, stop: undefined };
    case 'other_servers':
      return { name: count(node.members, 'other tool server'), about: tasks, to: undefined, stop: undefined };
  }
}

/** In whole characters as people see them. The title of the node has the rest. */
function cut(text: string, fits: number): string {
  const characters = [...segmenter.segment(text)];
  if (characters.length <= fits) return text;
  return `${characters
    .slice(0, fits - 1)
    .map(({ segment }) => segment)
    .join('')}…`;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
