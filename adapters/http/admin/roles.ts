/** The role that each route of `/admin`, `/audit` and of a log that is not public needs. A route that is not here cannot be registered. */

import type { OperatorRole } from '../../../domain/operators/operator.ts';

export const adminRoutes = {
  'GET /admin/agents': 'viewer',
  'POST /admin/agents': 'registrar',
  'GET /admin/agents/{agent_id}': 'viewer',
  'PATCH /admin/agents/{agent_id}': 'registrar',
  'DELETE /admin/agents/{agent_id}': 'registrar',
  'DELETE /admin/agents/{agent_id}/tasks': 'responder',
  'GET /admin/tasks': 'viewer',
  'DELETE /admin/tasks': 'responder',
  'GET /admin/tasks/{task_id}': 'viewer',
  'GET /admin/tasks/{task_id}/tree': 'viewer',
  'DELETE /admin/tasks/{task_id}': 'responder',
  'GET /admin/sponsors': 'viewer',
  'GET /admin/sponsors/{sponsor_key}': 'viewer',
  'DELETE /admin/sponsors/{sponsor_key}/tasks': 'responder',
  'PUT /admin/sponsors/{sponsor_key}/block': 'responder',
  'DELETE /admin/sponsors/{sponsor_key}/block': 'responder',
  'GET /admin/acts': 'auditor',
  'GET /audit': 'auditor',
  'GET /audit/stream': 'auditor',
  'GET /audit/checkpoints': 'auditor',
  'GET /audit/records/{seq}/proof': 'auditor',
  'GET /log/checkpoint': 'auditor',
  'GET /log/keys': 'auditor',
  'GET /log/tile/{level}/{index}': 'auditor',
} as const satisfies Readonly<Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`, OperatorRole>>;

/** A method and the pattern of its path. Records name a route by it, so they hold no id of a path. */
export type AdminRoute = keyof typeof adminRoutes;
