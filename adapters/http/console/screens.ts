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
  people: { path: '/people', title: 'People', route: 'GET /admin/sponsors', inNavigation: true },
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
  block: { path: '/people/block', route: 'PUT /admin/sponsors/{sponsor_key}/block', screen: 'people' },
  unblock: { path: '/people/unblock', route: 'DELETE /admin/sponsors/{sponsor_key}/block', screen: 'people' },
} as const satisfies Readonly<Record<string, ConsoleForm>>;

export type FormName = keyof typeof forms;

export function roleOf({ route }: { readonly route: AdminRoute }): OperatorRole {
  return adminRoutes[route];
}
