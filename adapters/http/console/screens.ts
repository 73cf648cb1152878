/**
 * The screens of the console and its forms. Each has the role of the route of the API that does the same, and a refusal
 * is recorded under that route. A path that is not here cannot be registered.
 */

import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { type AdminRoute, adminRoutes } from '../admin/roles.ts';

interface Screen {
  readonly path: string;
  readonly title: string;
  readonly route: AdminRoute;
  /** Whether every page links to it. */
  readonly inNavigation: boolean;
}

/** In the order of the navigation. */
export const screens = {
  now: { path: '/', title: 'Now', route: 'GET /admin/tasks', inNavigation: true },
  delegation: { path: '/delegation', title: 'Delegation', route: 'GET /admin/tasks', inNavigation: true },
  agents: { path: '/agents', title: 'Agents', route: 'GET /admin/agents', inNavigation: true },
  agent: { path: '/agents/:agentId', title: 'Agent', route: 'GET /admin/agents/{agent_id}', inNavigation: false },
  task: { path: '/tasks/:taskId', title: 'Task', route: 'GET /admin/tasks/{task_id}', inNavigation: false },
  record: {
    ...{ path: '/tasks/:taskId/records/:seq', title: 'Record' },
    ...{ route: 'GET /audit/records/{seq}/proof', inNavigation: false },
  },
  people: { path: '/people', title: 'People', route: 'GET /admin/sponsors', inNavigation: true },
  ledger: { path: '/ledger', title: 'Ledger', route: 'GET /audit', inNavigation: true },
  checkpoints: {
    path: '/ledger/checkpoints',
    title: 'Checkpoints',
    route: 'GET /audit/checkpoints',
    inNavigation: false,
  },
  // Every operator may ask whether the service works.
  doctor: { path: '/doctor', title: 'Doctor', route: 'GET /admin/tasks', inNavigation: true },
  stop: { path: '/stop', title: 'Kill switch', route: 'DELETE /admin/tasks/{task_id}', inNavigation: false },
} as const satisfies Readonly<Record<string, Screen>>;

export type ScreenName = keyof typeof screens;

interface ConsoleForm {
  readonly path: string;
  readonly route: AdminRoute;
  /** Where its button is: the page after a mistake links to it. */
  readonly screen: ScreenName;
}

export const forms = {
  stopTask: { path: '/stop/task', route: 'DELETE /admin/tasks/{task_id}', screen: 'stop' },
  stopAgent: { path: '/stop/agent', route: 'DELETE /admin/agents/{agent_id}/tasks', screen: 'stop' },
  stopPerson: { path: '/stop/person', route: 'DELETE /admin/sponsors/{sponsor_key}/tasks', screen: 'stop' },
  disableAgent: { path: '/agent/disable', route: 'PATCH /admin/agents/{agent_id}', screen: 'agents' },
  enableAgent: { path: '/agent/enable', route: 'PATCH /admin/agents/{agent_id}', screen: 'agents' },
  block: { path: '/people/block', route: 'PUT /admin/sponsors/{sponsor_key}/block', screen: 'people' },
  unblock: { path: '/people/unblock', route: 'DELETE /admin/sponsors/{sponsor_key}/block', screen: 'people' },
} as const satisfies Readonly<Record<string, ConsoleForm>>;

/** Forms that only read: what they send is too long for an address. They need no reason. */
export const readForms = {
  compare: { path: '/agent/compare', title: 'Comparison', route: 'GET /admin/agents', screen: 'agents' },
} as const satisfies Readonly<Record<string, ConsoleForm & { readonly title: string }>>;

export type ReadFormName = keyof typeof readForms;
export type FormName = keyof typeof forms;

interface ConsoleFeed {
  readonly path: string;
  readonly route: AdminRoute;
  /** Whether a request counts as a use of the session. The stream and *Now* ask again by themselves. */
  readonly renews: boolean;
}

/** What the scripts of the console read. */
export const feeds = {
  now: { path: '/now', route: 'GET /admin/tasks', renews: false },
  stream: { path: '/stream', route: 'GET /audit/stream', renews: false },
  proofs: { path: '/ledger/proofs', route: 'GET /audit/records/{seq}/proof', renews: true },
  chain: { path: '/ledger/chain', route: 'GET /audit/checkpoints', renews: true },
} as const satisfies Readonly<Record<string, ConsoleFeed>>;

export type FeedName = keyof typeof feeds;

export function roleOf({ route }: { readonly route: AdminRoute }): OperatorRole {
  return adminRoutes[route];
}
