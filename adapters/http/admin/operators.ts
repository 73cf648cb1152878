/** Who may call a route of `/admin` and `/audit`: the holder of the admin key, or a person by role (docs/operators.md). */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { Outcome } from '../../../application/outcome.ts';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import { type Operator, type OperatorPerson, roleFor } from '../../../domain/operators/operator.ts';
import { MAX_REASON, MIN_REASON, parseReason } from '../../../domain/operators/reason.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { bearerCredential, bearerKeys, refuseBearer } from '../message/bearer.ts';
import { discardRest } from '../message/body.ts';
import { CAPACITY_RETRY_AFTER } from '../message/faults.ts';
import { singleHeader } from '../message/head.ts';
import { answerProblem } from '../message/problem-details.ts';
import { type AdminRoute, adminRoutes } from './roles.ts';

export interface OperatorAccess {
  /** Whether a responder may end all tasks of all people (`Service:Operators:StopEverything`). The admin key always may. */
  readonly mayStopEverything: boolean;
  /** Validates an access token. */
  validate(token: string, trace?: Trace, permit?: HeldPermit): Promise<Outcome<OperatorPerson>>;
  /** Records that a person lacks the role for a route, or has none at the end of a sign-in (`GET /callback`). */
  refuseRole(person: OperatorPerson, route: AdminRoute | 'GET /callback', trace?: Trace): Promise<void>;
  /** Records that the provider's keys could not be fetched. */
  refuseUnchecked(trace?: Trace): Promise<void>;
}

interface Access {
  readonly apiKey: Secret | undefined;
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
}

const UNAUTHORIZED = 'The credential is neither the admin key nor a valid access token of an operator.';

/** Requires the admin key, or a valid access token of any person. The route then requires a role. */
export function authenticateOperator(access: Access, operators: OperatorAccess): RequestHandler {
  const checkKey = bearerKeys(access.apiKey === undefined ? [] : [access.apiKey]);
  return async (request, response, next) => {
    const verdict = checkKey(request);
    if (verdict === 'accepted') {
      request.operator = { kind: 'key' };
      return next();
    }
    const credential = bearerCredential(request);
    const outcome =
      credential.kind === 'present'
        ? await operators.validate(credential.token, request.trace, request.permit)
        : undefined;
    if (outcome?.kind === 'allowed') {
      request.operator = outcome.value;
      return next();
    }
    if (outcome?.denial.reason === 'subject_keys_unavailable') {
      discardRest(request);
      await operators.refuseUnchecked(request.trace);
      response.set('Retry-After', String(CAPACITY_RETRY_AFTER));
      const detail = "The identity provider's keys could not be fetched. Retry the request.";
      const error = 'temporarily_unavailable';
      return answerProblem(response, { status: 503, error, detail, reason: outcome.denial.reason });
    }
    return refuseBearer(access, request, response, verdict, (_, reason) =>
      answerProblem(response, { status: 401, detail: UNAUTHORIZED, reason }),
    );
  };
}

/**
 * Requires the role of this route, and a reason from a person who changes something. Without `Service:Operators` it checks
 * neither role nor reason: the admin key opens every route.
 */
export function requireOperator(operators: OperatorAccess | undefined, route: AdminRoute): RequestHandler {
  if (operators === undefined) return (_request, _response, next) => next();
  const isRead = route.startsWith('GET ');
  return async (request, response, next) => {
    const { operator } = request;
    if (operator === undefined) throw new Error('a route was reached without authentication');
    const role = roleFor(operator, adminRoutes[route]);
    const isOff = isSwitchedOff(operators, operator, route);
    if (role === undefined || isOff) {
      discardRest(request);
      if (operator.kind === 'person') await operators.refuseRole(operator, route, request.trace);
      const detail = isOff
        ? SWITCHED_OFF_SENTENCE
        : `This needs the role ${adminRoutes[route]}, which your access token does not name.`;
      return answerProblem(response, { status: 403, detail, reason: 'operator_role_missing' });
    }
    if (isRead) return next();
    const given = operator.kind === 'key' ? { reason: undefined } : readReason(request);
    if ('errors' in given) {
      discardRest(request);
      return answerReasonRequired(response, given.errors);
    }
    request.act = { operator, role, route, reason: given.reason };
    return next();
  };
}

/** The one route that a setting must open to a role. */
const STOP_EVERYTHING = 'DELETE /admin/tasks' satisfies AdminRoute;
export const SWITCHED_OFF_SENTENCE =
  'No role allows this here: Service:Operators:StopEverything is not true. The admin key may.';

/** Whether a setting closes the route to the operator, whatever their role. */
export function isSwitchedOff(
  { mayStopEverything }: Pick<OperatorAccess, 'mayStopEverything'>,
  operator: Operator,
  route: AdminRoute,
): boolean {
  return operator.kind === 'person' && route === STOP_EVERYTHING && !mayStopEverything;
}

const REASON = 'Mandate-Reason';
const REASON_HEADER_SENTENCE = `Must be ${MIN_REASON} to ${MAX_REASON} characters without control characters, as plain ASCII with % written %25, or as percent-encoded UTF-8.`;
const ASCII = /^[\x20-\x7e]*$/;

type Reason = { readonly reason: string } | { readonly errors: readonly FieldError[] };

function readReason(request: IncomingMessage): Reason {
  const header = singleHeader(request, REASON);
  if (header.kind === 'absent') return { errors: fieldErrors(REASON, 'Is required: say why you make this change.') };
  if (header.kind === 'repeated') return { errors: fieldErrors(REASON, 'Must not be repeated.') };
  const text = ASCII.test(header.value) ? decoded(header.value) : undefined;
  const reason = text === undefined ? undefined : parseReason(text);
  return reason === undefined ? { errors: fieldErrors(REASON, REASON_HEADER_SENTENCE) } : { reason };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function answerReasonRequired(response: Response, errors: readonly FieldError[]): void {
  const detail = `A change by a named operator needs a reason, in the header ${REASON}.`;
  answerProblem(response, { status: 400, detail, errors, reason: 'reason_required' });
}
