/** Who may call a route of `/admin` and `/audit`: the admin key, or a person by role. */

import type { RequestHandler } from 'express';
import { type Operator, type OperatorPerson, roleFor } from '../../../domain/operators/operator.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { discardRest } from '../message/body.ts';
import { answerProblem } from '../message/problem-details.ts';
import { type AdminRoute, adminRoutes } from './roles.ts';

export interface OperatorAccess {
  /** Records that a person lacks the role for a route. */
  refuseRole(person: OperatorPerson, route: AdminRoute, trace?: Trace): Promise<void>;
}

/**
 * Requires the role of this route. Authentication has set `request.operator` before.
 *
 * @param access `undefined` without `Service:Operators`: the key opens every route
 */
export function requireOperator(access: OperatorAccess | undefined, route: AdminRoute): RequestHandler {
  return async (request, response, next) => {
    const operator: Operator | undefined = request.operator;
    if (access === undefined || operator?.kind === 'key') return next();
    if (operator === undefined) throw new Error('A route was reached without authentication.');
    if (roleFor(operator, adminRoutes[route]) !== undefined) return next();
    discardRest(request);
    await access.refuseRole(operator, route, request.trace);
    const detail = `This needs the role ${adminRoutes[route]}.`;
    answerProblem(response, { status: 403, detail, reason: 'operator_role_missing' });
  };
}
